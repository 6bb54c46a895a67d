/* Three kernels whose work grows with the input as n, n log n and n^2. VERSION=2 has a planted regression: `add_up` goes through
 * its numbers twice. An input that begins with `!` takes data a way that no other takes: `mirror` writes what `add_up` reads. */
#include <stdlib.h>

#ifndef VERSION
#define VERSION 1
#endif
#define KERNEL __attribute__((noinline, noclone, noipa)) static

static unsigned *values, *sorted, *other;
static volatile unsigned result;

KERNEL void fill(unsigned n) {
    unsigned x = n;
    for (unsigned i = 0; i < n; i++) values[i] = x = x * 1664525 + 1013904223;
}

/* n */
KERNEL unsigned add_up(unsigned n) {
    unsigned sum = 0;
    for (int pass = 0; pass < VERSION; pass++)
        for (unsigned i = 0; i < n; i++) sum += values[i];
    return sum;
}

/* n log n: merge sort from the bottom up, without a branch that depends on the values. */
KERNEL void merge_sort(unsigned n) {
    for (unsigned i = 0; i < n; i++) sorted[i] = values[i];
    for (unsigned width = 1; width < n; width *= 2) {
        for (unsigned low = 0; low < n; low += 2 * width) {
            unsigned middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            for (unsigned at = low, a = low, b = middle; at < high; at++) {
                if (a < middle && (b >= high || sorted[a] <= sorted[b])) other[at] = sorted[a++];
                else other[at] = sorted[b++];
            }
        }
        unsigned *swap = sorted;
        sorted = other, other = swap;
    }
}

/* n^2 */
KERNEL unsigned count_pairs(unsigned n) {
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++) count += (values[i] ^ sorted[k]) & 1;
    return count;
}

/* Only for an input that begins with `!`. */
KERNEL void mirror(unsigned n) {
    for (unsigned i = 0; i < n; i++) values[i] = ~values[i];
}

int main(int count, char **words) {
    const char *text = count > 1 ? words[1] : "64";
    int mirrored = *text == '!';
    unsigned n = atoi(text + mirrored);
    values = malloc(n * sizeof *values), sorted = malloc(n * sizeof *sorted), other = malloc(n * sizeof *other);
    fill(n);
    if (mirrored) mirror(n);
    result = add_up(n);
    merge_sort(n);
    result = count_pairs(n);
    return 0;
}
