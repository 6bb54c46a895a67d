/* Threads that write what they read themselves, and one sum under a lock: every byte has one
 * producer, whatever the order in which they run. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 3, TIMES = 20000, EVERY = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int total, part[THREADS];

__attribute__((noinline)) void add(int n)
{
    pthread_mutex_lock(&lock);
    total = total + n;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void *work(void *index)
{
    long k = (long)index;
    for (int i = 0; i < TIMES; i++) {
        part[k] = part[k] + i;
        if (i % EVERY == 0)
            add(i);
    }
    return 0;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (int round = 0; round < ROUNDS; round++) {
        for (long k = 0; k < THREADS; k++)
            pthread_create(&thread[k], 0, work, (void *)k);
        for (int k = 0; k < THREADS; k++)
            pthread_join(thread[k], 0);
    }
    printf("%d\n", total);
    return 0;
}
