/* A program for Spike that reads and writes by the host: system calls through `tohost`, characters through the console. */
#include <stdint.h>

volatile uint64_t tohost __attribute__((section(".tohost"), aligned(64)));
volatile uint64_t fromhost __attribute__((section(".tohost"), aligned(64)));

static char text[16], upper[16];

__attribute__((noinline)) long host(uint64_t number, uint64_t a, uint64_t b, uint64_t c) {
    static volatile uint64_t block[8] __attribute__((aligned(64)));
    block[0] = number;
    block[1] = a;
    block[2] = b;
    block[3] = c;
    __sync_synchronize();
    tohost = (uintptr_t)block;
    while (fromhost == 0)
        ;
    fromhost = 0;
    __sync_synchronize();
    return block[0];
}

__attribute__((noinline)) void put(char c) {
    tohost = 1ull << 56 | 1ull << 48 | (unsigned char)c;
    for (int i = 0; i < 10000 && tohost != 0; i++)
        ;
}

__attribute__((noinline)) void shout(long n) {
    for (long i = 0; i < n; i++)
        upper[i] = text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i];
}

#ifdef CONSOLE
__attribute__((noinline)) void talk(void) {
    for (const char *c = "hello\n"; *c; c++)
        put(*c);
}
#else
__attribute__((noinline)) void talk(void) {
    long n = host(63, 0, (uintptr_t)text, sizeof text);
    shout(n);
    host(64, 1, (uintptr_t)upper, n);
    put('!');
    put('\n');
}
#endif

__attribute__((noinline)) void leave(void) {
    for (;;)
        tohost = 1;
}

__asm__(".section .text.start\n.globl _start\n_start: la sp, stack_end\n call talk\n call leave\n"
        ".bss\n.align 4\n.space 4096\nstack_end:\n.text\n");
