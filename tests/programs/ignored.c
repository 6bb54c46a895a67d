/* Says which signals it was given ignored, and which blocked. */
#include <signal.h>
#include <stdio.h>

static void say(int number, const char *name)
{
    struct sigaction found;
    sigset_t blocked;
    sigaction(number, NULL, &found);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    printf("%s %s%s\n", name, found.sa_handler == SIG_IGN ? "ignored" : "not", sigismember(&blocked, number) ? " blocked" : "");
}

int main(void)
{
    say(SIGCHLD, "CHLD");
    say(SIGXFSZ, "XFSZ");
    say(SIGUSR2, "USR2");
    say(SIGPIPE, "PIPE");
    say(SIGUSR1, "USR1");
    return 0;
}
