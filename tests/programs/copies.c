/* What one function makes reaches another through copies of four kinds: by bytes, by words, by string instruction, by the C library. */
#include <string.h>

#define N 64
#define NOINLINE __attribute__((noinline, noclone))

static unsigned char source[N], bytes[N], words[N], moved[N], library[N];

NOINLINE static void produce(unsigned char *to)
{
    for (int i = 0; i < N; i++)
        to[i] = (unsigned char)(i * 7);
}

NOINLINE static void copy_bytes(unsigned char *to, const unsigned char *from)
{
    for (int i = 0; i < N; i++)
        to[i] = from[i];
}

NOINLINE static void copy_words(unsigned long *to, const unsigned long *from)
{
    for (unsigned i = 0; i < N / sizeof *to; i++)
        to[i] = from[i];
}

NOINLINE static void copy_moves(void *to, const void *from)
{
#if defined(__x86_64__)
    unsigned long count = N;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
    copy_words(to, from);
#endif
}

NOINLINE static int consume(const volatile unsigned char *from)
{
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += from[i];
    return sum;
}

int main(void)
{
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    produce(source);
    copy_bytes(bytes, source);
    copy_words((void *)words, (void *)source);
    copy_moves(moved, source);
    copy(library, source, N);
    return (consume(bytes) + consume(words) + consume(moved) + consume(library)) & 1;
}
