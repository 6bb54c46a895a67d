/* x86's instructions that repeat themselves, more often than a recorder has room for in one block. */
#include <stdio.h>

static char from[9000], to[9000], last[9000];
static long left;

__attribute__((noinline)) static void fill(char *p, long n)
{
    __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(7) : "memory");
}
__attribute__((noinline)) static void copy(char *p, char *q, long n)
{
    __asm__ volatile("rep movsb" : "+D"(p), "+S"(q), "+c"(n) : : "memory");
}
__attribute__((noinline)) static void copy_words(char *p, char *q, long n)
{
    __asm__ volatile("rep movsq" : "+D"(p), "+S"(q), "+c"(n) : : "memory");
}
__attribute__((noinline)) static void look(char *p, long n)
{
    __asm__ volatile("repne scasb" : "+D"(p), "+c"(n) : "a"(9) : "memory", "cc");
    left = n;
}

int main(void)
{
    fill(from, 9000);
    copy(to, from, 9000);
    copy_words(last, to, 1000);
    look(last, 7000);
    return printf("%ld\n", left) < 0;
}
