/* Two threads that each fill half of an array, which main then reads: 200 numbers of 4 bytes. */
#include <pthread.h>
#include <sched.h>

static int numbers[200];
volatile int total;

__attribute__((noinline)) void *work(void *half)
{
    int *from = numbers + 100 * (long)half;
    for (int i = 0; i < 100; i++) {
        from[i] = i * 3;
        if (i % 10 == 0) sched_yield();
    }
    return 0;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, work, (void *)0);
    pthread_create(&b, 0, work, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    int sum = 0;
    for (int i = 0; i < 200; i++) sum += numbers[i];
    total = sum;
    return 0;
}
