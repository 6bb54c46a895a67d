/* Variables and buffers whose traffic is known: what each function reads, writes and leaves unread. */
#include <stdlib.h>
static int table[64];
static short scratch[32];
static volatile int result;

__attribute__((noinline)) static void fill(int n) {
    for (int i = 0; i < n; i++) ((volatile int *)table)[i] = i;
}

__attribute__((noinline)) static int sum(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += ((volatile int *)table)[i];
    return s;
}

/* Written twice, read never. */
__attribute__((noinline)) static void waste(void) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 32; i++) ((volatile short *)scratch)[i] = (short)i;
}

__attribute__((noinline)) static void send(volatile unsigned char *buffer, int n) {
    for (int i = 0; i < n; i++) buffer[i] = (unsigned char)i;
}

__attribute__((noinline)) static int receive(volatile unsigned char *buffer, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += buffer[i];
    return s;
}

int main(void) {
    fill(64);
    int s = sum(48) + sum(16);
    waste();
    unsigned char *buffer = malloc(100000);
    send(buffer, 100000);
    s += receive(buffer, 90000);
    free(buffer);
    result = s;
    return 0;
}
