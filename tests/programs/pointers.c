/* Calls through pointers, callbacks from the library. */
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE static int add(int a, int b) { return a + b; }
NOINLINE static int sub(int a, int b) { return a - b; }
static int (*volatile table[])(int, int) = {add, sub, add};
NOINLINE static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
    int values[] = {5, 3, 9, 1, 7, 2}, sum = 0;
    qsort(values, 6, sizeof values[0], compare);
    for (int i = 0; i < 3; i++) sum = table[i](sum, values[i]);
    return sum == 2 ? 0 : sum;
}
