/* A coroutine that goes on in three threads, one behind the other, and hands each of them what it has made of the number that it was
 * given: 3 * rounds numbers of 8 bytes each way. */
#include <pthread.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
enum { ROUNDS = 40 };
static ucontext_t *back, own;
static char stack[32768];
static volatile long given, made;
NOINLINE static void give(long n) { given = n; }
NOINLINE static long twice(void) { return 2 * given; }
NOINLINE static void hand(long n) { made = n; swapcontext(&own, back); }
static void produce(void) { for (;;) hand(twice()); }
NOINLINE static long take(void) { return made; }
NOINLINE static long rounds(ucontext_t *here) {
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        give(i);
        back = here;
        swapcontext(here, &own);
        sum += take();
    }
    return sum;
}
static void *thread(void *sum) {
    ucontext_t here;
    *(long *)sum += rounds(&here);
    return 0;
}
int main(void) {
    long sum = 0;
    getcontext(&own);
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = sizeof stack;
    makecontext(&own, produce, 0);
    for (int i = 0; i < 3; i++) {
        pthread_t other;
        pthread_create(&other, 0, thread, &sum);
        pthread_join(other, 0);
    }
    return sum == 3 * (ROUNDS - 1) * ROUNDS ? 0 : 1;
}
