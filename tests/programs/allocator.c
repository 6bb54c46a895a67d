/* Has its own allocator; a signal interrupts it, whose handler asks it, too. Says what it got, as allocations.c. */
#include "say.h"
#include <signal.h>
#include <string.h>

static char pool[1 << 12];
static size_t used;
static volatile int armed;
static char *inner;

__attribute__((noinline)) static void *pool_get(size_t bytes) {
    char *p = pool + used;
    used += (bytes + 15) / 16 * 16;
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
    inner = pool_get(24);
    say("pool_get", inner, 24);
    for (int i = 0; i < 24; i++)
        ((volatile char *)inner)[i] = number;
}

int main(void) {
    signal(SIGUSR1, handler);
    armed = 1;
    volatile char *outer = pool_get(40);
    say("pool_get", (char *)outer, 40);
    for (int i = 0; i < 4; i++)
        outer[i] = i;
    volatile char *last = pool_get(200);
    say("pool_get", (char *)last, 200);
    for (int i = 0; i < 100; i++)
        last[i] = i;
    say("free", (char *)last, 0);
    pool_put((char *)last);
    volatile char *small = pool_get(3);
    say("pool_get", (char *)small, 3);
    small[0] = small[1] = small[2] = 1;
    say("free", (char *)small, 0);
    pool_put((char *)small);
    last[5] = outer[1];
    return 0;
}
