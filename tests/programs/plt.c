/* A function that calls another one by way of a stub, which reads where it lies. */
#include <string.h>

char from[64], to[64];

__attribute__((noinline)) void spread(int n)
{
    for (int i = 0; i < 8; i++)
        memmove(to + i, from + n, (size_t)n);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        from[i] = (char)i;
        spread(i % 8 + 1);
    }
    return to[3] & 1;
}
