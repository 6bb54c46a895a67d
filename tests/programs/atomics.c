/* Atomic operations: locked instructions on x86, exclusive loads and stores or LSE on ARM, LR/SC and AMOs on RISC-V. */
#define NOINLINE __attribute__((noinline, noclone))
static int word = 1;
static unsigned char byte;
static long wide;
NOINLINE static int add(int *p, int n) { return __atomic_add_fetch(p, n, __ATOMIC_SEQ_CST); }
NOINLINE static int swap(int *p, int n) { return __atomic_exchange_n(p, n, __ATOMIC_ACQ_REL); }
NOINLINE static int replace(int *p, int old, int new) { return __atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); }
NOINLINE static int test_and_set(unsigned char *p) { return __atomic_test_and_set(p, __ATOMIC_ACQUIRE); }
NOINLINE static long or_wide(long *p, long n) { return __atomic_or_fetch(p, n, __ATOMIC_RELAXED); }
int main(void) {
    int a = add(&word, 4);           /* 5 */
    int b = swap(&word, 9);          /* 5, word 9 */
    int c = replace(&word, 9, 12);   /* 1, word 12 */
    int d = replace(&word, 9, 13);   /* 0: the comparison fails, nothing is stored */
    int e = test_and_set(&byte) + test_and_set(&byte);
    return a == 5 && b == 5 && c == 1 && d == 0 && e == 1 && or_wide(&wide, 6) == 6 && word == 12 ? 0 : 1;
}
