/* Recursion, direct and mutual. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
NOINLINE int odd(int n);
NOINLINE int even(int n) { int r = n == 0 ? 1 : odd(n - 1); __asm__ volatile("" ::: "memory"); return r; }
NOINLINE int odd(int n) { int r = n == 0 ? 0 : even(n - 1); __asm__ volatile("" ::: "memory"); return r; }
NOINLINE int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
int main(void) { return fact(8) + even(7) + ackermann(2, 3) == 40320 + 9 ? 0 : 1; }
