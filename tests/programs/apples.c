/* Fills a table and adds it up, in a process and in another program, which it becomes after a fork: both have their table
 * at nearly the same address. Compiled with FRUIT=apples or FRUIT=pears. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)

int FRUIT[64];

__attribute__((noinline)) static void NAMED(fill_, FRUIT)(void)
{
    for (int i = 0; i < 64; i++) FRUIT[i] = i;
}

__attribute__((noinline)) static int NAMED(sum_, FRUIT)(void)
{
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += FRUIT[i];
    return sum;
}

/* What the allocator gives lies at the same address in both. */
__attribute__((noinline)) static int *NAMED(grow_, FRUIT)(int n)
{
    int *list = malloc(n * sizeof *list);
    for (int i = 0; i < n; i++) list[i] = i;
    return list;
}

__attribute__((noinline)) static int NAMED(add_, FRUIT)(const int *list, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += list[i];
    return sum;
}

int main(int arguments, char **argument)
{
    if (arguments > 1 && !fork()) {
        execv(argument[1], argument + 1);
        _exit(101);
    }
    NAMED(fill_, FRUIT)();
    int *list = NAMED(grow_, FRUIT)(100), sum = NAMED(sum_, FRUIT)() + NAMED(add_, FRUIT)(list, 100);
    while (wait(NULL) > 0) {}
    printf("%d\n", sum);
    return 0;
}
