/* Two coroutines on stacks of their own, by swapcontext. */
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
static ucontext_t back, one, two;
static char stacks[2][16384];
static volatile int handed, sum;
NOINLINE static void give(ucontext_t *from, ucontext_t *to, int n) { handed = n; swapcontext(from, to); sum += handed; }
static void first(void) { for (int i = 0; i < 4; i++) give(&one, &two, i); }
static void second(void) { for (int i = 0; i < 4; i++) give(&two, &one, 10 * i); }
static void make(ucontext_t *c, char *stack, ucontext_t *link, void (*run)(void)) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = sizeof stacks[0];
    c->uc_link = link;
    makecontext(c, run, 0);
}
int main(void) {
    make(&one, stacks[0], &back, first);
    make(&two, stacks[1], &back, second);
    swapcontext(&back, &one);
    return sum == 0 ? 1 : 0;
}
