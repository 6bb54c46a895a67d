/* Threads whose calls make a tree each, of a size of its own. Both are there before one works, so that
 * valgrind does not give one the number of the other. */
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
APART static void work(int size) { total += outer(size); }

static pthread_barrier_t both;

static void *begin(void *size)
{
    pthread_barrier_wait(&both);
    work((int)(long)size);
    return 0;
}

int main(void)
{
    pthread_t a, b;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&a, 0, begin, (void *)5);
    pthread_create(&b, 0, begin, (void *)9);
    pthread_join(a, 0);
    pthread_join(b, 0);
    total += outer(3);
    return 0;
}
