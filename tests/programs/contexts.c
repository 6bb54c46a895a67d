/* More calling contexts than are kept, and deeper ones: contexts DEPTH. Eight functions call each other. */
#include <stdlib.h>

typedef void function(int depth);
static function *const table[8];
static volatile int left;

#define DEFINE(n) \
    static __attribute__((noinline)) void f##n(int depth) { \
        left++; \
        if (depth > 0) \
            for (int i = 0; i < 8; i++) table[i](depth - 1); \
    }
DEFINE(0) DEFINE(1) DEFINE(2) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7)
static function *const table[8] = { f0, f1, f2, f3, f4, f5, f6, f7 };

static __attribute__((noinline)) int down(int n);
static __attribute__((noinline)) int below(int n) { return n > 0 ? down(n - 1) + left : left; }
static __attribute__((noinline)) int down(int n) { return n > 0 ? below(n - 1) - left : left; }

int main(int count, char **words)
{
    down(1500);
    f0(count > 1 ? atoi(words[1]) : 3);
    return 0;
}
