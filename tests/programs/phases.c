// Two phases, with a mark between; with an argument it never ends.
#include "../../recorders/stream/addfg_mark.h"
#include <unistd.h>

static volatile int numbers[64];

__attribute__((noinline)) static void fill(void)
{
    for (int i = 0; i < 64; i++) numbers[i] = i;
}

__attribute__((noinline)) static int add(void)
{
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += numbers[i];
    return sum;
}

int main(int argc, char **argv)
{
    fill();
    ADDFG_MARK(1);
    int sum = add();
    while (argc > 1) {
        sum += add();
        usleep(1000);
    }
    return sum != 2016;
}
