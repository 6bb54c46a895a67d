/* Processes of processes: they fork at each depth of a recursion, with threads that share memory, with handlers, and by
 * the ways of the C library. */

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))

extern char **environ;
static int data[100];
static volatile int caught;

APART static void fill(int n)
{
    for (int i = 0; i < 100; i++) data[i] += n * i;
}

APART static int sum(void)
{
    int total = 0;
    for (int i = 0; i < 100; i++) total += data[i];
    return total;
}

/* What its caller left in registers is saved here, and in a child never restored by whom saved it. */
APART static int descend(int depth, int children)
{
    int status = 0;
    if (depth) return descend(depth - 1, children) + depth;
    pid_t child = fork();
    if (child) waitpid(child, &status, 0);
    else {
        fill(3);
        if (children) descend(2, children - 1);
    }
    return sum() & 15;
}

static void handle(int signal)
{
    caught += signal;
    fill(1);
}

static void *work(void *of)
{
    int status;
    for (int i = 0; i < 20; i++) {
        fill(i);
        if (i != 10) continue;
        pid_t child = fork();
        if (!child) {
            signal(SIGUSR1, handle);
            raise(SIGUSR1);
            _exit(sum() & 3);
        }
        waitpid(child, &status, 0);
    }
    return of;
}

int main(int arguments, char **argument)
{
    int status;
    pid_t child;
    if (arguments > 1) return 7;
    fill(2);
    descend(4, 2);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) pthread_create(thread + i, 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], 0);
    char *again[] = { argument[0], "again", 0 };
    if (!posix_spawn(&child, argument[0], 0, 0, again, environ)) waitpid(child, &status, 0);
    child = vfork();
    if (!child) {
        execv("/nowhere", again);
        execv(argument[0], again);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return system("exit 3") == 0;
}
