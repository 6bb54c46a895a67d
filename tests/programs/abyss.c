/* A helper that is called by one function near `main`, and by another one below more calls than a build keeps contexts of. */
#include <stdio.h>

static unsigned char table[65536], near_main[1024], far_down[1024];

__attribute__((noinline)) void put(unsigned char *to, unsigned seed) {
    for (int i = 0; i < 1024; i += 8)
        *(unsigned long *)(to + i) = seed * 0x0101010101010101ul;
}

__attribute__((noinline)) void prepare(void) {
    for (unsigned i = 0; i < sizeof table; i++)
        table[i] = i * i >> 3;
    put(near_main, 1);
}

__attribute__((noinline)) unsigned finish(unsigned rounds) {
    unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 33 + i;
    put(far_down, 2);
    return sum;
}

__attribute__((noinline)) unsigned descend(volatile unsigned depth) {
    return depth ? descend(depth - 1) + 1 : finish(100000);
}

__attribute__((noinline)) unsigned consume(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof table; i++)
        sum += table[i];
    for (unsigned i = 0; i < 1024; i++)
        sum += near_main[i] ^ far_down[i];
    return sum;
}

int main(void) {
    prepare();
    unsigned sum = descend(1500);
    printf("%u\n", sum + consume());
}
