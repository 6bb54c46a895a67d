/* A fault inside a function: the handler runs in its middle and mends what it tripped over. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone))
static int *page;
NOINLINE static void mend(int signal) { (void)signal; mprotect(page, 4096, PROT_READ | PROT_WRITE); }
NOINLINE static int touch(int *p) { p[0] = 3; p[1] = p[0] + 4; return p[1]; }
int main(void) {
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, mend);
    return touch(page) == 7 ? 0 : 1;
}
