/* Has its own allocator; a signal interrupts it, whose handler asks it, too. Says what it got, as allocations.c. */
#include "say.h"
#include <signal.h>
#include <sys/syscall.h>

static char pool[1 << 12];
static size_t used;
static volatile int armed;
static char *inner;
static volatile int sum;

__attribute__((noinline, used)) void *pool_get(size_t alignment, size_t bytes) {
    char *p = pool + (used + alignment - 1) / alignment * alignment;
    used = p - pool + (bytes + 15) / 16 * 16;
    if (armed) {
        armed = 0;
        raise(SIGUSR1);
    }
    return p;
}

__attribute__((noinline)) static void pool_put(void *p) {
    if (p == pool + used - 16)
        used -= 16;
}

static void handler(int number) {
    inner = pool_get(16, 24);
    say("pool_get", inner, 24);
    for (int i = 0; i < 24; i++)
        ((volatile char *)inner)[i] = number;
}

static void other(int number) {
    say("pool_get", pool_get(16, 7), 7);
    sum += number;
}

int main(void) {
    signal(SIGUSR1, handler);
    signal(SIGUSR2, other);
    armed = 1;
    volatile char *outer = pool_get(16, 40);
    say("pool_get", (char *)outer, 40);
    for (int i = 0; i < 4; i++)
        outer[i] = i;
    volatile char *last = pool_get(16, 200);
    say("pool_get", (char *)last, 200);
    for (int i = 0; i < 100; i++)
        last[i] = i;
    say("free", (char *)last, 0);
    pool_put((char *)last);
    volatile char *small = pool_get(16, 3);
    say("pool_get", (char *)small, 3);
    small[0] = small[1] = small[2] = 1;
    say("free", (char *)small, 0);
    pool_put((char *)small);
#ifdef __aarch64__
    /* A signal at the system call, between the second argument and the call: the kernel gives the register back. */
    register long x0 __asm__("x0") = getpid();
    register long x1 __asm__("x1") = SIGUSR2, x8 __asm__("x8") = SYS_kill;
    __asm__ volatile("svc #0\n\tmov x0, #16\n\tbl pool_get"
                     : "+r"(x0), "+r"(x1), "+r"(x8)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30",
                       "cc", "memory");
    char *given = (char *)x0;
    say("pool_get", given, SIGUSR2);
    for (int i = 0; i < SIGUSR2; i++)
        ((volatile char *)given)[i] = 1;
#endif
    last[5] = outer[1];
    return 0;
}
