/* A thread that is not the first one forks; its child has more threads at once than its parent had. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 40 };

static pthread_barrier_t all;

static void *begin(void *nothing)
{
    pthread_barrier_wait(&all);
    return nothing;
}

static int child(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&all, 0, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(thread + i, 0, begin, 0)) return 1;
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], 0);
    return 0;
}

static void *forks(void *status)
{
    pid_t process = fork();
    if (!process) _exit(child());
    waitpid(process, status, 0);
    return 0;
}

int main(void)
{
    pthread_t thread;
    int status = 1;
    if (pthread_create(&thread, 0, forks, &status)) return 1;
    pthread_join(thread, 0);
    return status != 0;
}
