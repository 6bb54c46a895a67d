/*
 * Floating point, in hardware or by the compiler's library, and functions with any number of arguments.
 *
 * calls: main wave 1, main dot 2, main scale 1, main total 2, main mean 1, main wide 4
 * flow: wave dot global 192
 * flow: main dot heap 64
 * flow: main scale heap 32
 * flow: scale main heap 32
 * abi: main total stack -- which arguments are on the stack
 * abi: main mean stack -- which arguments are on the stack
 */
#include "start.h"
#include <stdarg.h>

static float samples[16];

OWN static void wave(float *to, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = i * 0.5f;
}

OWN static double dot(const float *a, const float *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

OWN static void scale(double *values, int count, double by)
{
    for (int i = 0; i < count; i++)
        values[i] *= by;
}

OWN static int64_t wide(int64_t sum, int32_t more)
{
    return sum * 5 + more;
}

OWN static int32_t total(int count, ...)
{
    va_list list;
    va_start(list, count);
    int32_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(list, int32_t);
    va_end(list);
    return sum;
}

OWN static double mean(int count, ...)
{
    va_list list;
    va_start(list, count);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(list, double);
    va_end(list);
    return sum / count;
}

OWN int main(void)
{
    float *taps = heap();
    double *results = (double *)(taps + 16);
    for (int i = 0; i < 16; i++)
        taps[i] = 1;
    wave(samples, 16);
    double a = dot(samples, samples, 16), b = dot(samples, taps, 16);
    for (int i = 0; i < 4; i++)
        results[i] = i & 1 ? a : b;
    scale(results, 4, 0.25);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += results[i];
    int64_t far = 1;
    for (int i = 0; i < 4; i++)
        far = wide(far, i);
    int32_t ints = total(3, 1, 2, 3) + total(9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    sum += mean(4, 1.0, 2.0, 3.0, 4.0);
    return ((int)sum + ints + (int)far) & 0x3f;
}
