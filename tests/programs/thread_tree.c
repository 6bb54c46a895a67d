/* Threads whose calls make a tree each, of a size of its own. */
#include <pthread.h>

#define APART __attribute__((noinline, noipa))

volatile int total;

APART static int leaf(int n) { return n * 3; }
APART static int inner(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += leaf(i);
    return sum;
}
APART static int again(int n) { return n > 0 ? again(n - 1) + 1 : leaf(n); }
APART static int outer(int n) { return inner(n) + inner(2 * n) + again(n); }
APART static void *work(void *size)
{
    total += outer((int)(long)size);
    return 0;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, work, (void *)5);
    pthread_create(&b, 0, work, (void *)9);
    pthread_join(a, 0);
    pthread_join(b, 0);
    total += outer(3);
    return 0;
}
