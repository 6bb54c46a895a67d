/* Loops whose pattern is known. Each function is called with arrays that are filled before. */
#define KERNEL __attribute__((noinline, noclone, noipa)) static
enum { N = 24 };
static int a[N + 8], b[N + 8], c[N + 8], h[8];
static long wide[N];
static float f[N];
static struct node { struct node *next; int value; } nodes[N];
static int t[4];

KERNEL void scale(int n) { for (int i = 0; i < n; i++) b[i] = a[i] * 3; }
KERNEL int total(int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
KERNEL int parity(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= a[i]; return s; }
KERNEL int product(int n) { int s = 1; for (int i = 0; i < n; i++) s *= a[i]; return s; }
KERNEL int mask(int n) { int s = -1; for (int i = 0; i < n; i++) s &= a[i]; return s; }
KERNEL float mean(int n) { float s = 0; for (int i = 0; i < n; i++) s += f[i]; return s; }
KERNEL void prefix(int n) { int s = 0; for (int i = 0; i < n; i++) { s += a[i]; b[i] = s; } }
KERNEL void stencil(int n) { for (int i = 1; i < n; i++) b[i] = a[i - 1] + a[i + 1]; }
KERNEL void smooth(int n) { for (int i = 1; i < n; i++) c[i] = (c[i - 1] + c[i]) >> 1; }
KERNEL void fourth(int n) { for (int i = 4; i < n; i++) c[i] = c[i - 4] * 5; }
KERNEL int chase(struct node *p) { int last = 0; while (p) { last = p->value; p = p->next; } return last; }
KERNEL void histogram(int n) { for (int i = 0; i < n; i++) h[a[i] & 7]++; }
KERNEL void random_numbers(int n) { unsigned x = 1; for (int i = 0; i < n; i++) { x = x * 69069 + 1; b[i] = x; } }
KERNEL void fibonacci(int n) { for (int i = 2; i < n; i++) wide[i] = wide[i - 1] + wide[i - 2]; }
KERNEL void gather(int n) { for (int i = 0; i < n; i++) b[i] = a[c[i] & 15]; }
KERNEL void reverse(int n) { for (int i = 0; i < n / 2; i++) { int x = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = x; } }
KERNEL void fill(int n) { for (int i = 0; i < n; i++) wide[i] = i; }
KERNEL int largest(int n) { int m = a[0]; for (int i = 1; i < n; i++) m = a[i] > m ? a[i] : m; return m; }
KERNEL unsigned smallest(int n) { unsigned m = c[0]; for (int i = 1; i < n; i++) m = (unsigned)c[i] < m ? c[i] : m; return m; }
KERNEL float highest(int n) { float m = f[0]; for (int i = 1; i < n; i++) m = f[i] > m ? f[i] : m; return m; }
KERNEL int chosen(int n) { int m = 0; for (int i = 0; i < n; i++) m = a[i] > 9 ? a[i] : m; return m; }
KERNEL void cleared(long n) { void *to = b; int zero = 0; __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(zero) : "memory"); }
KERNEL void stages(int n) {
    for (int i = 1; i < n; i++) { b[i] = a[i] * 7; c[i] = (b[i - 1] ^ 5) * 3; }
}
KERNEL void reused(int n) {
    for (int i = 0; i < n; i++) {
        t[0] = a[i], t[1] = a[i] + 1, t[2] = a[i] * 2, t[3] = 1;
        __asm__ volatile("" ::: "memory");
        b[i] = t[0] + t[1] * t[2] - t[3];
    }
}
KERNEL int recurrence(int n) {
    int y = 0;
    for (int i = 0; i < n; i++) { y = (y >> 1) + a[i]; b[i] = (y * y + 3) * (y ^ 9) + (y << 4) * (y | 6); }
    return y;
}

int main(void) {
    for (int i = 0; i < N; i++) {
        a[i] = i * 2 + 1, c[i] = i, f[i] = 1;
        nodes[i].value = i, nodes[i].next = i + 1 < N ? &nodes[i + 1] : 0;
    }
    wide[1] = 1;
    scale(N), total(N), parity(N), product(N), mask(N), mean(N), prefix(N), stencil(N), smooth(N), fourth(N);
    chase(nodes), histogram(N), random_numbers(N), fibonacci(N), gather(N), reverse(N), fill(N), stages(N);
    reused(N), recurrence(N);
    largest(N), smallest(N), highest(N), chosen(N), cleared(N);
    return 0;
}
