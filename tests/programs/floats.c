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
int main(void) {
    fill(samples, 16);
    convert(narrow, samples, 16);
    double r = dot(narrow, narrow, 16) + mix(1, 2.5, 4, 0.5f) + (double)extend(3) + sqrt(samples[8]) + fabs(-1.5);
    return r == 310 + 10.5 + 7 + 2 + 1.5 ? 0 : 1;
}
