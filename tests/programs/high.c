/* high: memory far above what else a program has, asked for at many addresses. high x: addresses that nothing has, whose
 * faults say where they were. high apart: memory 2 TiB above other memory. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sum;
static sigjmp_buf out;
static void *volatile at;

__attribute__((noinline)) static void writes(volatile char *p)
{
    for (int i = 0; i < 100; i++) p[i] = i;
}

__attribute__((noinline)) static void reads(volatile char *p)
{
    for (int i = 0; i < 100; i++) sum += p[i];
}

static void faulted(int signal, siginfo_t *info, void *context)
{
    at = info->si_addr;
    siglongjmp(out, 1);
}

int main(int count, char **word)
{
    /* As Go has its heap. */
    char *p = mmap((void *)0xc000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap((void *)0xd000000000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    writes(p);
    reads(p);
    writes(shared);
    reads(shared);
    /* Where the recorder has what is its own. */
    for (unsigned long i = 0x200000; i < 0x420000; i += 0x10001) {
        char *any = mmap((void *)(i << 24 | 0x4000), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        writes(any);
        reads(any);
    }
    if (read(0, p + 200, 10) < 0 || write(1, p, 0) < 0) return 2;
    if (count > 1 && word[1][0] == 'a') {
        p = mmap(p + (1L << 41), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        writes(p);
        reads(p);
    }
    if (count < 2 || word[1][0] != 'x') return 0;
    struct sigaction act = { .sa_sigaction = faulted, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &act, NULL);
    static char *const wild[] = { (char *)0x10, (char *)0x4000000000, (char *)0x123456789abc };
    for (int i = 0; i < 3; i++) {
        if (!sigsetjmp(out, 1)) sum += *(volatile char *)wild[i];
        printf("%p\n", at);
        if (!sigsetjmp(out, 1)) *(volatile char *)wild[i] = 1;
        if (at != wild[i]) return 1;
    }
    printf("at %lx and %lx\n", (unsigned long)p, (unsigned long)shared);
    return 0;
}
