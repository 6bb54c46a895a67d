// Each child of `fork` goes on with what its parent has in registers, saved or not, and in memory: `serve` works in both
// processes, on the same values. With a word, a child forks again, from a thread of its own.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))

static long table[64];
long result;

ALONE static long produce(long n)
{
    long sum = n;
    for (int i = 0; i < 1000; i++) sum = sum * 5 ^ i;
    return sum;
}

ALONE static void fill(long seed)
{
    for (int i = 0; i < 64; i++) table[i] = seed ^ i;
}

ALONE static long work(long x)
{
    long sum = 0;
    for (int i = 0; i < 64; i++) sum += table[i] ^ x;
    return sum;
}

// Its caller's registers are saved here, and its own where `fork` is.
ALONE static long middle(long a, long b, pid_t *child)
{
    *child = fork();
    return a * 3 + b;
}

ALONE static long deep(int depth, long a, pid_t *child)
{
    long b = a * depth;
    return depth ? deep(depth - 1, a + depth, child) + b : middle(a, b, child);
}

ALONE static void serve(long n)
{
    long x = produce(n), y = x ^ 77;
    pid_t child;
    long z = middle(x, y, &child) + deep(3, y, &child);
    result = work(x + z);
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
}

static void *served(void *n)
{
    serve((long)n);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    fill(count);
    serve(count);
    if (count > 1) {
        pthread_create(&thread, NULL, served, &count);
        pthread_join(thread, NULL);
    }
    while (wait(NULL) > 0) { }
    return 0;
}
