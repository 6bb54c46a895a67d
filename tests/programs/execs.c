/* execs.c [COMMAND]: an exec that fails, then one that runs a command, if there is one. */
#include <stdio.h>
#include <unistd.h>

static int sum;

__attribute__((noinline)) static void work(int n)
{
    for (volatile int i = 0; i < n; i++) sum += i;
}

int main(int arguments, char **argument)
{
    work(100);
    execl("/nowhere/there", "there", (char *)0);
    work(200);
    printf("%d\n", sum);
    fflush(stdout);
    if (arguments > 1) execl("/bin/sh", "sh", "-c", argument[1], (char *)0);
    work(300);
    return 3;
}
