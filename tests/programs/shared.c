/* Two functions that call a third, which main calls, too: what each has of the steps adds up to more than all. */
#include <stdint.h>
#include <string.h>
#define STAGE __attribute__((noinline, noclone, noipa)) static
static uint32_t first[512], second[512], third[512];

STAGE uint32_t mixed(uint32_t seed, int rounds) {
    for (int i = 0; i < rounds; i++)
        seed = seed * 1664525u + (seed >> 13) + 1013904223u;
    return seed;
}

STAGE void early(int n) {
    for (int i = 0; i < n; i++)
        first[i] = mixed(i, 60);
    memcpy(second, first, sizeof second);
}

STAGE uint32_t late(int n) {
    uint32_t sum = 0;
    memcpy(third, second, sizeof third);
    for (int i = 0; i < n; i++)
        sum ^= mixed(third[i], 60) + sum * 3;
    return sum;
}

int main(void) {
    early(512);
    return (late(512) + mixed(7, 400)) & 1;
}
