// A small program with planted regressions, for examples/ci. VERSION=2 copies its buffer twice, VERSION=3 builds its table for each block
// and, where clang compiles it, mixes twice. An input that begins with `!` takes data a way that no other takes.
#include <cstdlib>
#include <cstring>

#ifndef VERSION
#define VERSION 1
#endif
#define KERNEL __attribute__((noinline)) static

namespace blend {
const int BLOCK = 32;
unsigned char table[256];

KERNEL void build_table(int gamma) {
    for (int i = 0; i < 256; i++) table[i] = static_cast<unsigned char>(i * gamma);
}

KERNEL void read_input(unsigned char *data, int n) {
    unsigned x = n;
    for (int i = 0; i < n; i++) data[i] = x = x * 1664525 + 1013904223;
}

// Only for an input that begins with `!`.
KERNEL void unpack(unsigned char *data, int n) {
    for (int i = 0; i < n; i++) data[i] ^= 0x55;
}

// Planted in version 2: copied twice, by one function, which no other function sees.
KERNEL void keep(unsigned char *to, unsigned char *spare, const unsigned char *from, int n) {
    for (int i = 0; i < n; i++) spare[i] = from[i];
#if VERSION == 2
    unsigned char *again = spare + n;
    for (int i = 0; i < n; i++) again[i] = spare[i];
    spare = again;
#endif
    for (int i = 0; i < n; i++) to[i] = spare[i];
}

KERNEL unsigned mix(const unsigned char *data, int n, unsigned seed) {
    unsigned sum = seed;
    int passes = 1;
#if VERSION == 3 && defined(__clang__)
    passes = 2;
#endif
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < n; i++) sum = sum * 31 + table[data[i]];
    return sum;
}
}  // namespace blend

int main(int count, char **words) {
    using namespace blend;
    const char *text = count > 1 ? words[1] : "64";
    bool packed = *text == '!';
    int n = std::atoi(text + packed);
    auto *data = static_cast<unsigned char *>(std::malloc(n)), *kept = static_cast<unsigned char *>(std::malloc(n));
    auto *spare = static_cast<unsigned char *>(std::malloc(2 * n));
    read_input(data, n);
    if (packed) unpack(data, n);
    keep(kept, spare, data, n);
    volatile unsigned result = 0;
    build_table(3);
    for (int at = 0; at < n; at += BLOCK) {
        // Planted in version 3: the table is built again for each block.
        if (VERSION == 3) build_table(3);
        result = mix(kept + at, n - at < BLOCK ? n - at : BLOCK, result);
    }
    return 0;
}
