/* A loop that dispatches on byte code through a table of labels, and one through functions. */
#define NOINLINE __attribute__((noinline, noclone))
static long stack[16];
static const unsigned char program[] = {0, 1, 0, 10, 3, 1, 2, 0, 1, 4, 9, 4};
NOINLINE static long labels(const unsigned char *p, long n) {
    static void *const table[] = {&&push, &&add, &&again, &&stop};
    static const unsigned char code[] = {0, 1, 2, 3};
    long sum = 0;
    p = code;
    goto *table[*p];
push: stack[1] = n; goto *table[*++p];
add: sum += stack[1]; n--; goto *table[*++p];
again: if (n > 0) { p = code; goto *table[*p]; } goto *table[*++p];
stop: return sum;
}
typedef long (*Step)(long *, long);
NOINLINE static long store(long *s, long n) { s[2] = n; return n; }
NOINLINE static long shift(long *s, long n) { s[3] = s[2] * 2 + n; return s[3]; }
NOINLINE static long drop(long *s, long n) { return n - s[2]; }
static const Step steps[] = {store, shift, drop};
NOINLINE static long functions(long n) {
    for (unsigned i = 0; i < sizeof program; i++) n = steps[program[i] % 3](stack, n);
    return n;
}
int main(void) { return labels(program, 10) == 55 && functions(1) != 0 ? 0 : 1; }
