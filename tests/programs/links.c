/* links.c ROUNDS: stores go into the middle of older ones, each time at other places. Says how many KB it takes itself. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 32768
static unsigned char bytes[BYTES + 16];
static uint64_t sum;

__attribute__((noinline)) static void whole(int round)
{
    for (int i = round % 8; i < BYTES; i += 8) *(volatile uint64_t *)(bytes + i) = i + round;
}

__attribute__((noinline)) static void middle(int round)
{
    for (int i = round % 8; i < BYTES; i += 8) *(volatile unsigned char *)(bytes + i + 1 + (i / 8 + round) % 6) = round;
}

__attribute__((noinline)) static void look(int round)
{
    for (int i = round % 8; i < BYTES; i += 24) sum += *(volatile uint64_t *)(bytes + i);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    for (int round = 0; round < rounds; round++) {
        whole(round);
        middle(round);
        look(round);
    }
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "VmRSS:", 6)) printf("%d\n", atoi(line + 6));
    return 0;
}
