/* A process that forks, reads what its child wrote through a pipe, and becomes another one by exec. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile unsigned char shared[100];

APART static void fill(void)
{
    for (int i = 0; i < 100; i++) shared[i] = 1;
}

APART static void fill_in_child(void)
{
    for (int i = 0; i < 60; i++) shared[i] = 2;
}

APART static int sum(void)
{
    int total = 0;
    for (int i = 0; i < 100; i++) total += shared[i];
    return total;
}

int main(int arguments, char **argument)
{
    if (arguments > 1) {
        puts(argument[1]);
        return 4;
    }
    fill();
    int ends[2], of_child, status;
    if (pipe(ends)) return 101;
    pid_t child = fork();
    if (child == 0) {
        fill_in_child();
        int total = sum();
        _exit(write(ends[1], &total, sizeof total) != sizeof total);
    }
    if (read(ends[0], &of_child, sizeof of_child) != sizeof of_child) return 102;
    waitpid(child, &status, 0);
    printf("%d %d\n", of_child, sum());
    fflush(stdout);
    execl(argument[0], argument[0], "again", (char *)0);
    return 103;
}
