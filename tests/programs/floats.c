/* Floating point: scalar, vectors, conversions, mixed arguments, long double. */
#include <math.h>
#define NOINLINE __attribute__((noinline, noclone))
static double samples[16];
static float narrow[16];
NOINLINE static void fill(double *p, int n) { for (int i = 0; i < n; i++) p[i] = i * 0.5; }
NOINLINE static void convert(float *to, const double *from, int n) { for (int i = 0; i < n; i++) to[i] = (float)from[i]; }
NOINLINE static float dot(const float *a, const float *b, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
NOINLINE static double mix(int a, double b, long c, float d) { return a + b * c - d; }
NOINLINE static long double extend(double x) { return (long double)x * 2 + 1; }
/* What valgrind does otherwise than the processor: it leaves the block behind the instruction that asks for it. */
NOINLINE static double less_precise(double x, double y) {
    unsigned short old, less;
    unsigned mxcsr, to_zero;
    __asm__ volatile("fnstcw %0" : "=m"(old));
    less = (old & ~0x300) | 0x200;
    __asm__ volatile("fldcw %0" : : "m"(less));
    double r = x * y;
    __asm__ volatile("fldcw %0" : : "m"(old));
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    to_zero = mxcsr | 0x8000;
    __asm__ volatile("ldmxcsr %0" : : "m"(to_zero));
    r += x;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    return r;
}
int main(void) {
    fill(samples, 16);
    convert(narrow, samples, 16);
    double r = dot(narrow, narrow, 16) + mix(1, 2.5, 4, 0.5f) + (double)extend(3) + sqrt(samples[8]) + fabs(-1.5);
    for (int i = 0; i < 9; i++) r += less_precise(i, 0.5) - 1.5 * i;
    return r == 310 + 10.5 + 7 + 2 + 1.5 ? 0 : 1;
}
