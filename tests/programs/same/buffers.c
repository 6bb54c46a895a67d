/*
 * Buffers in global memory, on the heap and on the stack, and structures as arguments and results.
 *
 * calls: main produce 1, main copy 2, main consume 1, main pack 1, main unpack 1
 * flow: produce copy global 64
 * flow: copy consume stack 64
 * flow: copy pack stack 32
 * flow: pack main stack 32
 * abi: main unpack stack -- the first 16 bytes of a structure are in registers on ARM
 */
#include "start.h"

/* Aligned, so that no compiler calls memcpy to copy it. */
struct block { _Alignas(8) int32_t values[8]; };

static int32_t input[16];

OWN static void produce(int32_t *to, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = 3 * i + 1;
}

OWN static void copy(int32_t *to, const int32_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

OWN static int32_t consume(const int32_t *from, int count)
{
    int32_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += from[i];
    return sum;
}

/* The result is written where the caller wants it. */
OWN static struct block pack(const int32_t *from)
{
    struct block block;
    for (int i = 0; i < 8; i++)
        block.values[i] = from[i] ^ 1;
    return block;
}

OWN static int32_t unpack(struct block block)
{
    int32_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += block.values[i];
    return sum;
}

OWN int main(void)
{
    int32_t local[16];
    int32_t *kept = heap();
    produce(input, 16);
    copy(kept, input, 16);
    copy(local, kept, 16);
    int32_t sum = consume(local, 16);
    struct block block = pack(local);
    sum += unpack(block);
    return sum & 0x3f;
}
