/* Structures passed and returned: in registers, by hidden pointer, on the stack; bit fields, unions, partial reads and writes. */
#define NOINLINE __attribute__((noinline, noclone))
struct pair { int a, b; };
struct block { long v[6]; };
struct flags { unsigned low : 3, mid : 7, high : 22; };
union word { unsigned whole; unsigned char bytes[4]; };
NOINLINE static struct pair make_pair(int n) { return (struct pair){ n, n + 1 }; }
NOINLINE static int sum_pair(struct pair p) { return p.a + p.b; }
NOINLINE static struct block make_block(long n) { struct block b; for (int i = 0; i < 6; i++) b.v[i] = n + i; return b; }
NOINLINE static long sum_block(struct block b) { long s = 0; for (int i = 0; i < 6; i++) s += b.v[i]; return s; }
NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
    return a + b + c + d + e + f + g - h - i - j;
}
NOINLINE static void set_flags(struct flags *f, int n) { f->low = n; f->mid = n * 2; f->high = n * 3; }
NOINLINE static int get_flags(const struct flags *f) { return f->low + f->mid + f->high; }
NOINLINE static void set_bytes(union word *w) { for (int i = 0; i < 4; i++) w->bytes[i] = i + 1; }
NOINLINE static unsigned get_word(const union word *w) { return w->whole; }
int main(void) {
    struct flags f = { 0 };
    union word w;
    set_flags(&f, 5);
    set_bytes(&w);
    long r = sum_pair(make_pair(3)) + sum_block(make_block(10)) + many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + get_flags(&f);
    return r == 7 + 75 + 1 + 30 && get_word(&w) == 0x04030201 ? 0 : 1;
}
