/* Says which signals it was given ignored. */
#include <signal.h>
#include <stdio.h>

static void say(int number, const char *name)
{
    struct sigaction found;
    sigaction(number, NULL, &found);
    printf("%s %s\n", name, found.sa_handler == SIG_IGN ? "ignored" : "not");
}

int main(void)
{
    say(SIGCHLD, "CHLD");
    say(SIGXFSZ, "XFSZ");
    say(SIGUSR2, "USR2");
    return 0;
}
