/* Sorts numbers whose order differs from run to run: steps, calls and bytes vary by chance, together. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KERNEL __attribute__((noinline)) static

enum { N = 200 };
static unsigned numbers[N];

KERNEL void shuffle(unsigned seed) {
    for (unsigned i = 0; i < N; i++) numbers[i] = i;
    for (unsigned i = N - 1; i > 0; i--) {
        seed = seed * 1664525 + 1013904223;
        unsigned k = (seed >> 8) % (i + 1), old = numbers[i];
        numbers[i] = numbers[k], numbers[k] = old;
    }
}

KERNEL void swap(unsigned *a, unsigned *b) {
    unsigned old = *a;
    *a = *b, *b = old;
}

KERNEL void insertion(unsigned *from, unsigned *to) {
    for (unsigned *at = from; at < to; at++)
        for (unsigned *back = at; back > from && back[-1] > *back; back--) swap(back - 1, back);
}

KERNEL void quick(unsigned *from, unsigned *to) {
    if (to - from < 8) {
        insertion(from, to);
        return;
    }
    unsigned pivot = from[(to - from) / 2], *low = from, *high = to - 1;
    while (low <= high) {
        while (*low < pivot) low++;
        while (*high > pivot) high--;
        if (low <= high) swap(low++, high--);
    }
    quick(from, high + 1);
    quick(low, to);
}

int main(void) {
    unsigned seed = 0;
    FILE *random = fopen("/dev/urandom", "r");
    if (!random || fread(&seed, sizeof seed, 1, random) != 1) return 1;
    fclose(random);
    shuffle(seed);
    quick(numbers, numbers + N);
    return numbers[0] != 0;
}
