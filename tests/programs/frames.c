/* What the kernel puts onto the stack of a handler: the program fills that stack with two patterns, one after the other, and
 * finds which bytes are another one both times. Then it reads those, and the others. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define APART __attribute__((noinline))
#define SIZE 32768

static unsigned char stack[SIZE] __attribute__((aligned(64))), changed[SIZE];
static volatile unsigned char pattern;
static volatile int round, sum, count;

APART static void fill(void)
{
    for (int i = 0; i < SIZE; i++) ((volatile unsigned char *)stack)[i] = pattern;
}

APART static void read_changed(void)
{
    for (int i = 0; i < SIZE; i++)
        if (changed[i] == 2) sum += ((volatile unsigned char *)stack)[i], count++;
}

APART static void read_unchanged(void)
{
    for (int i = 0; i < SIZE; i++)
        if (changed[i] != 2) sum += ((volatile unsigned char *)stack)[i];
}

APART static void look(void)
{
    if (round == 2) {
        read_changed();
        read_unchanged();
        return;
    }
    for (int i = 0; i < SIZE; i++) changed[i] += ((volatile unsigned char *)stack)[i] != pattern;
}

static void with_info(int signal, siginfo_t *info, void *context) { look(); }
static void without(int signal) { look(); }

int main(void)
{
    stack_t on = { .ss_sp = stack, .ss_size = SIZE };
    sigaltstack(&on, 0);
    for (int kind = 0; kind < 2; kind++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        if (kind) action.sa_handler = without;
        else action.sa_sigaction = with_info;
        action.sa_flags = SA_ONSTACK | (kind ? 0 : SA_SIGINFO);
        sigaction(SIGUSR1, &action, 0);
        memset(changed, 0, sizeof changed);
        for (round = 0; round < 3; round++) {
            pattern = round ? 0x5a : 0xa5;
            fill();
            raise(SIGUSR1);
        }
    }
    printf("%d\n", count);
    return 0;
}
