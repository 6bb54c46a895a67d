/* Reads three words of four whose values nobody needs, as a program empties a register of a device. */
#include <stdio.h>

static int word[4];

__attribute__((noinline)) static int look(const int *from)
{
    int last;
    __asm__ volatile("movl (%1), %0\n movl 4(%1), %0\n movl 8(%1), %0\n movl 12(%1), %0" : "=&r"(last) : "r"(from) : "memory");
    return last;
}

int main(void)
{
    word[3] = 7;
    printf("%d\n", look(word));
    return 0;
}
