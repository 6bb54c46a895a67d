// Signals of a timer, in the middle of an interpreter that goes on by indirect jumps.
#include <signal.h>
#include <sys/time.h>

static volatile int ticks;

__attribute__((noinline)) static void count(void) { ticks++; }

static void tick(int number)
{
    (void)number;
    count();
}

__attribute__((noinline)) static int run(const unsigned char *code, int times)
{
    static void *const go[] = {&&add, &&twice, &&back, &&end};
    int at = 0, sum = 0;
    goto *go[code[at]];
add:
    sum += at;
    goto *go[code[++at]];
twice:
    sum *= 2;
    goto *go[code[++at]];
back:
    at = --times > 0 ? 0 : at + 1;
    goto *go[code[at]];
end:
    return sum;
}

int main(void)
{
    static const unsigned char code[] = {0, 1, 0, 0, 1, 2, 3};
    struct itimerval each = {{0, 500}, {0, 500}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &each, 0);
    int sum = run(code, 60000);
    for (int i = 0; ticks < 20; i++) sum += run(code, i % 100);
    return sum == 1;
}
