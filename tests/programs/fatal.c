/* Ends by the signal of its argument: a fault of its own for those that are faults, which nobody handles. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int zero, sum;

__attribute__((noinline)) static void fault(int signal, volatile char *nothing)
{
    sum += 1;
    if (signal == SIGSEGV) *(volatile int *)(long)zero = 1;
    if (signal == SIGBUS) sum += nothing[1];
    if (signal == SIGFPE) sum = 5 / zero;
    if (signal == SIGILL) __asm__ volatile("ud2");
    if (signal == SIGTRAP) __asm__ volatile("int3");
    sum += 2;
}

int main(int argc, char **argv)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    int number = argc > 1 ? atoi(argv[1]) : SIGSEGV;
    char name[] = "/tmp/addfg-fatal-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    fault(number, mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0));
    return kill(getpid(), number);
}
