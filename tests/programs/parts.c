/* Something before, a part that is asked for, something after; the same part again between marks. */
#include "../../recorders/stream/addfg_mark.h"

#define APART __attribute__((noinline))

static volatile unsigned char data[64], out[64];
static volatile int total;

APART static void prepare(void)
{
    for (int i = 0; i < 64; i++) data[i] = i;
}

APART static unsigned char look(int i) { return data[i] + 1; }

APART static void decode(int depth)
{
    for (int i = 0; i < 64; i++) out[i] = look(i);
    if (depth > 0) decode(depth - 1);
}

APART static void show(void)
{
    for (int i = 0; i < 64; i++) total += out[i];
}

/* C++ functions by their names: `working(int)` before `work(int)`. */
int working(int n) __asm__("_Z7workingi");
int work(int n) __asm__("_Z4worki");
APART int working(int n) { return total + n; }
APART int work(int n) { return total - n; }

int main(void)
{
    prepare();
    total = working(3) + work(3);
    decode(1);
    show();
    ADDFG_BEGIN();
    decode(0);
    ADDFG_END();
    prepare();
    ADDFG_BEGIN();
    ADDFG_MARK(7);
    show();
    ADDFG_END();
    return total & 127;
}
