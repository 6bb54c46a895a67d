/* A signal handler that interrupts a loop, and one that is raised. */
#include <signal.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int seen, spins;
NOINLINE static void note(int signal) { seen = seen * 10 + (signal == SIGUSR1 ? 1 : 2); }
NOINLINE static void handler(int signal) { note(signal); }
NOINLINE static int spin(int n) { int s = 0; for (int i = 0; i < n; i++) { spins = i; s += spins; } return s; }
int main(void) {
    signal(SIGUSR1, handler);
    signal(SIGILL, handler);
    int s = spin(5);
    kill(getpid(), SIGUSR1); /* at the return from the system call */
    s += spin(5);
    raise(SIGUSR1);
    return s == 20 && seen == 11 ? 0 : 1;
}
