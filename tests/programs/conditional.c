/*
 * Instructions that may have no effect: conditional moves and stores (ARM conditions, IT blocks, cmov); several registers to and
 * from memory at once (push, pop, ldm, stm, ldp, stp); copies in overlapping pieces.
 */
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct many { int v[8]; };
static int cells[4];
NOINLINE static int larger(int a, int b) { return a > b ? a : b; }
NOINLINE static void store_if(int *p, int condition, int n) { if (condition) *p = n; }
NOINLINE static int clamp(int n, int low, int high) { return n < low ? low : n > high ? high : n; }
NOINLINE static void copy(struct many *to, const struct many *from) { *to = *from; }
NOINLINE static int use(int a, int b, int c, int d) { return a + 2 * b + 3 * c + 4 * d; }
NOINLINE static int busy(int a, int b, int c, int d) { /* more live values than argument registers: saves and restores */
    int r = use(a, b, c, d);
    r += use(b, c, d, a);
    r += use(c, d, a, b);
    return r + a + b + c + d;
}
int main(void) {
    struct many from, to;
    for (int i = 0; i < 8; i++)
        from.v[i] = larger(i, 3);
    copy(&to, &from);
    for (int i = 0; i < 4; i++)
        store_if(&cells[i], i & 1, i + 10);
    memmove(&to.v[1], &to.v[0], 7 * sizeof to.v[0]);
    int r = clamp(-5, 0, 9) + clamp(50, 0, 9) + clamp(4, 0, 9); /* 13 */
    r += cells[0] + cells[1] + cells[2] + cells[3];               /* 24 */
    r += busy(1, 2, 3, 4);                                        /* 30 + 24 + 22 + 10 */
    r += to.v[7] - to.v[0];                                       /* 6 - 3 */
    return r == 13 + 24 + 86 + 3 ? 0 : r;
}
