/* Values that instructions exchange, that a line computes by calls, and that the kernel gives and takes. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

int at = 3, before, twice, locked, was, copied;
int sum, scaled, deep;
char buffer[16], only[8];

NOINLINE static int four(int n) { return n > 0 ? four(n - 1) : 4; }

NOINLINE static void exchange(void)
{
    before = __atomic_fetch_add(&at, 1, __ATOMIC_SEQ_CST);
    twice = before * 2; /* after the addition */
    was = __atomic_exchange_n(&locked, 7, __ATOMIC_SEQ_CST);
    copied = was; /* after the exchange */
}

NOINLINE static void fill(const char *path)
{
    int file = open(path, O_RDONLY);
    if (read(file, buffer, 8) != 8 || read(file, only, 1) != 1) abort();
    close(file);
}

NOINLINE static void mark(void) { buffer[8] = '!'; }

int main(int argc, char **argv)
{
    exchange();
    fill(argv[1]);
    mark();
    sum = four(3) + abs(argc) + 5; /* two calls */
    scaled = sum * 2; /* what came of them */
    deep = labs(scaled) > 3;
    return write(1, only, 1) != 1;
}
