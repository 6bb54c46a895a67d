/* Many functions, calls and pairs of them: 3,000 functions that call each other through a random table, six deep; each
   reads two cells that others wrote and writes its own. The number of calls is the first argument (200,000).

   gcc -O1 -g -static -o many many.c
   valgrind --tool=lackey --trace-mem=yes --vex-guest-chase=no --log-file=many.log ./many */
#include <stdlib.h>

enum { FUNCTIONS = 3000, DEPTH = 6 };
static unsigned cells[FUNCTIONS], state = 1;
typedef void function(int depth);
static function *const table[FUNCTIONS];

/* The next random number below FUNCTIONS. */
#define RANDOM() ((state = state * 1103515245u + 12345u) >> 8) % FUNCTIONS

#define DEFINE(n)                                                                                                      \
    static __attribute__((noinline)) void f##n(int depth) {                                                            \
        cells[1##n - 10000] = cells[RANDOM()] + cells[RANDOM()] + depth;                                               \
        if (depth < DEPTH) table[RANDOM()](depth + 1);                                                                 \
    }
#define NAME(n) f##n,

#define TEN(m, p) m(p##0) m(p##1) m(p##2) m(p##3) m(p##4) m(p##5) m(p##6) m(p##7) m(p##8) m(p##9)
#define HUNDRED(m, p)                                                                                                  \
    TEN(m, p##0) TEN(m, p##1) TEN(m, p##2) TEN(m, p##3) TEN(m, p##4)                                                   \
    TEN(m, p##5) TEN(m, p##6) TEN(m, p##7) TEN(m, p##8) TEN(m, p##9)
#define THOUSAND(m, p)                                                                                                 \
    HUNDRED(m, p##0) HUNDRED(m, p##1) HUNDRED(m, p##2) HUNDRED(m, p##3) HUNDRED(m, p##4)                               \
    HUNDRED(m, p##5) HUNDRED(m, p##6) HUNDRED(m, p##7) HUNDRED(m, p##8) HUNDRED(m, p##9)
#define ALL(m) THOUSAND(m, 0) THOUSAND(m, 1) THOUSAND(m, 2)

ALL(DEFINE)
static function *const table[FUNCTIONS] = {ALL(NAME)};

int main(int argc, char **argv) {
    int calls = argc > 1 ? atoi(argv[1]) : 200000;
    for (int i = 0; i < calls; i += DEPTH) table[RANDOM()](1);
    return cells[0] & 1;
}
