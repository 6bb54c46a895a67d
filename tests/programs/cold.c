/* gcc moves unlikely parts to `.cold` symbols. */
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE __attribute__((cold)) void complain(int n) { fprintf(stderr, "odd %d\n", n); }
NOINLINE int work(int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(p[i] < 0, 0)) { complain(p[i]); p[i] = -p[i]; s += p[i] * 3; }
        s += p[i];
    }
    return s;
}
int main(void) { int v[] = {1, 2, -3, 4}; return work(v, 4) == 19 ? 0 : 1; }
