/* What a recorder may get wrong: string instructions (also with a count of zero), atomics that are
 * done and not, masked vectors, recursion, library code. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Atomic int done, failed;
static char from[300], to[300];
volatile double result;

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int depth(int n) { return n ? depth(n - 1) + 1 : 0; }

int main(void)
{
    int expected = 5, list[64];
    memset(from, 1, sizeof from);
#ifdef __x86_64__
    void *d = to, *s = from;
    long n = 100;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    n = 0;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#endif
    done += 3;
    atomic_compare_exchange_strong(&failed, &expected, 9);
    expected = 3;
    atomic_compare_exchange_strong(&done, &expected, 9);
    for (int i = 0; i < 64; i++) list[i] = (i * 7919) % 61;
    qsort(list, 64, sizeof *list, compare);
    double sum = 0;
    for (int i = 0; i < 64; i++) sum += list[i] * 0.5;
    result = sum + depth(20) + to[list[3]];
    return 0;
}
