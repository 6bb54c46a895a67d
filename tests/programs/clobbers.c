/* A timer's handler leaves other values in all registers that a call may change; what it interrupts has its own again.
 * What the handler is given the kernel gives it. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile int ticks, numbers;
volatile unsigned result;

#if defined __x86_64__
#define CLOBBER __asm__ volatile("mov $1,%%eax; mov $2,%%ecx; mov $3,%%edx; mov $4,%%esi; mov $5,%%edi; mov $6,%%r8d; mov $7,%%r9d; pxor %%xmm0,%%xmm0" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "xmm0")
#elif defined __i386__
#define CLOBBER __asm__ volatile("mov $1,%%eax; mov $2,%%ecx; mov $3,%%edx" ::: "eax", "ecx", "edx")
#elif defined __aarch64__
#define CLOBBER __asm__ volatile("mov x0,1; mov x1,2; mov x2,3; mov x3,4; mov x4,5; mov x8,6; movi v0.2d,0" ::: "x0", "x1", "x2", "x3", "x4", "x8", "v0")
#elif defined __arm__
#define CLOBBER __asm__ volatile("mov r0,#1; mov r1,#2; mov r2,#3; mov r3,#4; mov r12,#5" ::: "r0", "r1", "r2", "r3", "r12")
#else
#define CLOBBER __asm__ volatile("li a0,1; li a1,2; li a2,3; li a3,4; li a4,5; li a5,6; li t1,7" ::: "a0", "a1", "a2", "a3", "a4", "a5", "t1")
#endif

__attribute__((noinline)) void count(void)
{
    ticks++;
    CLOBBER;
}

static void tick(int number)
{
    numbers += number;
    count();
}

__attribute__((noinline)) unsigned chain(unsigned x, unsigned n)
{
    for (unsigned i = 0; i < n; i++) x = x * 3 + 1;
    return x;
}

__attribute__((noinline)) double scaled(double x, unsigned n)
{
    for (unsigned i = 0; i < n; i++) x = x * 0.5 + 1;
    return x;
}

int main(void)
{
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    double y = 1;
    unsigned x = 1;
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 5) {
        x = chain(x, 5000);
        y = scaled(y, 5000);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    result = x;
    printf("%d\n", y > 1.9);
    return 0;
}
