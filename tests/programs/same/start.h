/*
 * Where the programs of this folder begin: without a C library, on x86-64, ARM, AArch64 and RISC-V. They take their heap from the
 * kernel. With -DMACHINE there is no kernel: the stack and the heap lie behind the program, and it ends by QEMU's test device or
 * by semihosting. With -DHOSTED they are ordinary programs with a C library.
 */
#include <stdint.h>

/* A function whose calls the compiler must not change. */
#define OWN __attribute__((noipa))

int main(void);

#if defined HOSTED
#include <stdlib.h>
static void *heap(void) { return malloc(4096); }

#elif defined MACHINE
extern char _end[];
static void *heap(void) { return (void *)(((uintptr_t)_end + 0x3fffff) & ~(uintptr_t)0xfffff); }
#if defined __aarch64__
#define START "ldr x1, =_end + 0x100000; and sp, x1, #~0xf; mov x1, #0x300000; msr cpacr_el1, x1; isb; bl main\n" \
              "adr x1, 1f; str x0, [x1, #8]; mov w0, #0x18; hlt #0xf000\n .balign 8\n 1: .quad 0x20026, 0\n"
#elif defined __arm__
#define START "ldr sp, =(_end + 0x100000); bic sp, sp, #7; bl main; mov r0, #0x18; ldr r1, =0x20026; svc 0x123456\n .ltorg\n"
#elif defined __riscv
#define START ".option push; .option norelax; la gp, __global_pointer$; .option pop; la sp, _end + 0x100000; andi sp, sp, -16; li t0, 0x6000; csrs mstatus, t0; call main\n" \
              "li t0, 0x100000; li t1, 0x5555; sw t1, 0(t0)\n 1: j 1b\n"
#endif

#else
#if defined __x86_64__
#define START "xor %ebp, %ebp; call main; mov %eax, %edi; mov $60, %eax; syscall\n"
#define MMAP 9
#elif defined __aarch64__
#define START "bl main; mov x8, #93; svc #0\n"
#define MMAP 222
#elif defined __arm__
#define START "bl main; mov r7, #1; svc #0\n"
#define MMAP 192
#elif defined __riscv
#define START ".option push; .option norelax; la gp, __global_pointer$; .option pop; call main; li a7, 93; ecall\n"
#define MMAP 222
#endif
/* A page that can be read and written, of nobody else. */
static void *heap(void)
{
#if defined __x86_64__
    register long flags __asm__("r10") = 0x22, file __asm__("r8") = -1, offset __asm__("r9") = 0;
    long page;
    __asm__ volatile("syscall" : "=a"(page) : "a"(MMAP), "D"(0), "S"(4096), "d"(3), "r"(flags), "r"(file), "r"(offset) : "rcx", "r11", "memory");
    return (void *)page;
#else
#if defined __aarch64__
#define ARGUMENT(n) __asm__("x" #n)
#define NUMBER __asm__("x8")
#define CALL "svc #0"
#elif defined __arm__
#define ARGUMENT(n) __asm__("r" #n)
#define NUMBER __asm__("r7")
#define CALL "svc #0"
#else
#define ARGUMENT(n) __asm__("a" #n)
#define NUMBER __asm__("a7")
#define CALL "ecall"
#endif
    register long number NUMBER = MMAP;
    register long address ARGUMENT(0) = 0, bytes ARGUMENT(1) = 4096, access ARGUMENT(2) = 3;
    register long flags ARGUMENT(3) = 0x22, file ARGUMENT(4) = -1, offset ARGUMENT(5) = 0;
    __asm__ volatile(CALL : "+r"(address) : "r"(number), "r"(bytes), "r"(access), "r"(flags), "r"(file), "r"(offset) : "memory");
    return (void *)address;
#endif
}
#endif

#if !defined HOSTED
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n" START ".size _start, . - _start\n");
#endif
