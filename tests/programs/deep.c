/* Recursion a thousand deep; every level reads what the first one wrote and what nobody wrote. */
#define NOINLINE __attribute__((noinline, noclone))
static int limit, never;
NOINLINE static int descend(int n) {
    volatile int local = n;
    int below = n < limit ? descend(n + 1) : never;
    return below + local;
}
int main(void) { limit = 1000; return descend(1) == 500500 ? 0 : 1; }
