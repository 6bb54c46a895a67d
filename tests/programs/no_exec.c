/* A child cannot become another program, and is killed while it waits: in code that has run before, so that a recorder
 * learns nothing new of it. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int own[2], ends[2];

/* Waits if nothing is in `own`. */
static void attempt(void)
{
    char one = 0;
    execl("/dev/null/none", "none", (char *)0);
    if (write(ends[1], &one, 1) != 1 || read(own[0], &one, 1) != 1) _exit(1);
}

int main(void)
{
    char few[3] = { 0 };
    if (pipe(own) || pipe(ends) || write(own[1], few, 3) != 3) return 1;
    pid_t child = fork();
    if (!child)
        for (;;) attempt();
    for (int i = 0; i < 4; i++)
        if (read(ends[0], few, 1) != 1) return 1;
    sleep(1);
    kill(child, SIGKILL);
    return waitpid(child, 0, 0) != child;
}
