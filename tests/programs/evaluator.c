/* An evaluator whose functions call one another in turn: evaluate -> apply -> evaluate -> apply. `apply` has too few of the steps to be a
 * box; those of each call of it are of the `evaluate` that called it, and only of the first `main`'s. */
#include <stdio.h>

#define PART __attribute__((noinline, noclone))

static unsigned table[512];

PART static unsigned evaluate(unsigned depth, unsigned seed);

/* Hands on, after a short mix. */
PART static unsigned apply(unsigned depth, unsigned seed) {
    for (unsigned i = 0; i < 16; i++)
        seed = seed * 31 + (seed >> 7);
    return depth ? evaluate(depth - 1, seed % 1000) ^ depth : seed;
}

PART static unsigned check(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 512; i++)
        sum = sum * 33 + table[i];
    return sum;
}

PART static unsigned evaluate(unsigned depth, unsigned seed) {
    for (unsigned i = 0; i < 2000; i++)
        table[(i + seed) % 512] += i * depth;
    return apply(depth, seed) + apply(depth / 2, seed + 7) + check();
}

int main(void) {
    printf("%u\n", apply(12, 3));
    return 0;
}
