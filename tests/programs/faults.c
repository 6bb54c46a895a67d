/* Five instructions that fault, each in another way; handlers go on behind them. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int got, zero;

static void on(int signal)
{
    got++;
    siglongjmp(back, 1);
}

#define TRY(what) do { if (!sigsetjmp(back, 1)) { what; } } while (0)

int main(void)
{
    static const int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    for (unsigned i = 0; i < 5; i++) signal(all[i], on);
    char name[] = "/tmp/addfg-faults-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    volatile char *nothing = mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    TRY(*(volatile int *)(long)zero = 1);
    TRY(zero += nothing[1]);
    TRY(zero = 5 / zero);
    TRY(__asm__ volatile("ud2"));
    TRY(__asm__ volatile("int3"));
    return got != 5;
}
