/* Works, tries to become a program that is not there, works again, and becomes itself, which ends with 3. */
#include <stdio.h>
#include <unistd.h>

static int total;

__attribute__((noinline)) static void work(void)
{
    for (volatile int i = 0; i < 100; i++) total += i;
}

int main(int argc, char **argv)
{
    if (argc > 1) return puts("another"), 3;
    work();
    execl("/nowhere/at/all", "nothing", (char *)0);
    work();
    execl(argv[0], argv[0], "again", (char *)0);
    return 1;
}
