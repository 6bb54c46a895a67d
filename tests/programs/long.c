/* Runs so long that no rows are made of it by themselves. With an argument it takes a fault at its end. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int table[4096];
static sigjmp_buf back;

__attribute__((noinline)) static int mixed(int a, int b)
{
    return a * 31 + (b ^ a >> 3);
}

__attribute__((noinline)) static void fill(int seed)
{
    for (int i = 0; i < 4096; i++) table[i] = mixed(seed, i);
}

__attribute__((noinline)) static long add(const int *of)
{
    long sum = 0;
    for (int i = 0; i < 4096; i++) sum += of[i];
    return sum;
}

static void *work(void *of)
{
    int *copy = malloc(sizeof table);
    long sum = 0;
    for (int i = 0; i < 40; i++) {
        memcpy(copy, of, sizeof table);
        copy[i]++;
        sum += add(copy);
    }
    free(copy);
    return (void *)sum;
}

static void caught(int signal)
{
    siglongjmp(back, signal);
}

int main(int argc, char **argv)
{
    long sum = 0;
    void *more;
    pthread_t thread;
    for (int i = 0; i < 60; i++) {
        fill(i);
        sum += add(table);
    }
    pthread_create(&thread, 0, work, table);
    pthread_join(thread, &more);
    signal(SIGSEGV, caught);
    if (argc > 1 && !sigsetjmp(back, 1)) *(volatile char *)argv[argc] = 1;
    printf("%ld\n", sum + (long)more);
    return 0;
}
