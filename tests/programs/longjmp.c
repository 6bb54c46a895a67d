/* Frames that end without a return. */
#include <setjmp.h>
#define NOINLINE __attribute__((noinline, noclone))
static jmp_buf back;
static volatile int depth;
NOINLINE void fall(int n) { depth = n; if (n == 5) longjmp(back, n); fall(n + 1); depth = -1; }
NOINLINE int guard(void) { int r = setjmp(back); if (r == 0) fall(0); return r; }
int main(void) { return guard() == 5 && depth == 5 ? 0 : 1; }
