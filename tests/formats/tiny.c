/* A program of a few instructions without a C library: what the fixtures of instruction traces are recorded from. */
int cell[2];

__attribute__((noinline)) static void produce(int *to) {
    to[0] = 5;
    to[1] = 7;
}
__attribute__((noinline)) static int consume(const int *from) { return from[0] + from[1]; }

__attribute__((noreturn)) void entry(void) {
    produce(cell);
    register long status __asm__(
#if defined __x86_64__
        "rdi"
#elif defined __i386__
        "ebx"
#elif defined __arm__
        "r0"
#elif defined __aarch64__
        "x0"
#else
        "a0"
#endif
    ) = consume(cell) - 12;
#if defined __x86_64__
    __asm__ volatile("syscall" : : "a"(60), "r"(status));
#elif defined __i386__
    __asm__ volatile("int $0x80" : : "a"(1), "r"(status));
#elif defined __arm__
    __asm__ volatile("mov r7, #1\n svc #0" : : "r"(status) : "r7");
#elif defined __aarch64__
    __asm__ volatile("mov x8, #93\n svc #0" : : "r"(status) : "x8");
#else
    __asm__ volatile("li a7, 93\n ecall" : : "r"(status) : "a7");
#endif
    __builtin_unreachable();
}
