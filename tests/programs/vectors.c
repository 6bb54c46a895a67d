/* Loops that compilers turn into vectors, whose pattern is known. */
#define KERNEL __attribute__((noinline, noclone, noipa)) static
enum { N = 1000 };
static int a[N], b[N];

KERNEL void count(int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }
KERNEL void scale(int *p, const int *q, int n) { for (int i = 0; i < n; i++) p[i] = q[i] * 3; }
KERNEL int total(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
KERNEL int parity(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s ^= p[i]; return s; }
KERNEL int largest(const int *p, int n) { int m = 0; for (int i = 0; i < n; i++) m = p[i] > m ? p[i] : m; return m; }
KERNEL int smallest(const int *p, int n) { int m = 0; for (int i = 0; i < n; i++) m = p[i] < m ? p[i] : m; return m; }

int main(void) {
    count(a, N), scale(b, a, N);
    return total(a, N) + parity(b, N) + largest(a, N) + smallest(b, N) == 0;
}
