/* `crunch` copies much and writes nothing; `tell` copies a little into what is written. Who copies is memcpy, for both of them. */
#include <string.h>
#include <unistd.h>

#define PART __attribute__((noinline, noclone))

static unsigned table[2][1024];
static char line[64];

PART static unsigned crunch(unsigned rounds) {
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 1024; i++)
            table[0][i] = table[1][i] * 31 + i + round;
        memcpy(table[1], table[0], sizeof table[0]);
        sum += table[1][round % 1024];
    }
    return sum;
}

PART static void tell(unsigned value) {
    static const char digits[] = "0123456789abcdef";
    char text[64];
    for (unsigned n = 0; n < 40; n++) {
        for (unsigned i = 0; i < 63; i++)
            text[i] = digits[(value >> (i % 8 * 4)) & 15];
        text[63] = '\n';
        memcpy(line, text, 64);
        if (write(1, line, 64) != 64)
            return;
    }
}

int main(void) {
    tell(crunch(20));
    return 0;
}
