/* RISC-V in machine mode: the timer, the software interrupt, traps. */
#include "count.h"

#define CLINT 0x2000000ul
#define MSIP (*(volatile unsigned *)CLINT)
#define MTIMECMP(n) (*(volatile unsigned *)(CLINT + 0x4000 + 4 * (n)))
#define MTIME(n) (*(volatile unsigned *)(CLINT + 0xbff8 + 4 * (n)))

#define WFI() __asm__ volatile("wfi" : : : "memory")
#define ALL_OFF() __asm__ volatile("csrci mstatus, 8" : : : "memory")
#define ALL_ON() __asm__ volatile("csrsi mstatus, 8" : : : "memory")
#define MASKED(...) \
    do { \
        unsigned long masked; \
        __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(masked) : : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("csrs mstatus, %0" : : "r"(masked & 8) : "memory"); \
    } while (0)
#define MASKED_BELOW(level, ...) \
    do { \
        unsigned long masked; \
        __asm__ volatile("csrrc %0, mie, %1" : "=r"(masked) : "r"((unsigned long)(level)) : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("csrs mie, %0" : : "r"(masked & (level)) : "memory"); \
    } while (0)

NAMED __attribute__((aligned(16))) static unsigned long semihosting(unsigned long what, const void *with)
{
    register unsigned long a0 __asm__("a0") = what;
    register const void *a1 __asm__("a1") = with;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

INLINE void timer(unsigned ticks)
{
    unsigned now = MTIME(0), then = now + ticks;
    MTIMECMP(0) = -1u;
    MTIMECMP(1) = MTIME(1) + (then < now);
    MTIMECMP(0) = then;
}

INLINE void timer_off(void) { MTIMECMP(1) = -1u; }

INLINE void pend(unsigned number)
{
    if (number == 3) MSIP = 1;
    else MTIMECMP(1) = 0, MTIMECMP(0) = 0;
}

#define SVC() __asm__ volatile(".option push\n.option norvc\n ecall\n.option pop" : : : "memory")
#define BRK() __asm__ volatile(".option push\n.option norvc\n ebreak\n.option pop" : : : "memory")
#define UDF() __asm__ volatile(".4byte 0xc0001073" : : : "memory") /* writes what can only be read */
/* Loads from where nothing is: it is in the midst of a block. */
#define FAULT() \
    __asm__ volatile(".option push\n.option norvc\n lw t0, 0(%0)\n.option pop\n nop\n nop" : : "r"(0x3f000000ul) : "t0", "memory")

typedef void Handler(void);
static Handler *const volatile handlers[CONTEXTS];
static const unsigned char nests[CONTEXTS];
/* Which interrupts a context lets in, of those that the one that it interrupted let in. */
static const unsigned char lets[CONTEXTS];

#define CSR(name) ({ unsigned long value; __asm__ volatile("csrr %0, " #name : "=r"(value) : : "memory"); value; })
#define SET_CSR(name, value) __asm__ volatile("csrw " #name ", %0" : : "r"((unsigned long)(value)) : "memory")

/* Called with interrupts off. */
INLINE void handle(unsigned context)
{
    unsigned before = begin(context, active, 0);
    unsigned long status = CSR(mstatus), at = CSR(mepc), enabled = CSR(mie);
    if (context == SYNC_CONTEXT) at += 4;
    if (nests[context]) {
        SET_CSR(mie, enabled & lets[context]);
        ALL_ON();
    }
    handlers[context]();
    if (nests[context]) {
        ALL_OFF();
        SET_CSR(mie, enabled);
    }
    SET_CSR(mepc, at);
    SET_CSR(mstatus, status);
    active = before;
}

INLINE unsigned context_of_cause(unsigned long cause)
{
    return (long)cause >= 0 ? SYNC_CONTEXT : (cause & 15) == 3 ? SOFTWARE_CONTEXT : TIMER_CONTEXT;
}

NAMED void trap_body(void) { handle(context_of_cause(CSR(mcause))); }
NAMED void timer_body(void) { handle(TIMER_CONTEXT); }
NAMED void software_body(void) { handle(SOFTWARE_CONTEXT); }
NAMED void sync_body(void) { handle(SYNC_CONTEXT); }

#if __riscv_xlen == 64
#define S(r, n) " sd " #r ", 8*" #n "(sp)\n"
#define L(r, n) " ld " #r ", 8*" #n "(sp)\n"
#define FRAME "128"
#else
#define S(r, n) " sw " #r ", 4*" #n "(sp)\n"
#define L(r, n) " lw " #r ", 4*" #n "(sp)\n"
#define FRAME "64"
#endif
#define ALL(X) X(ra, 0) X(t0, 1) X(t1, 2) X(t2, 3) X(a0, 4) X(a1, 5) X(a2, 6) X(a3, 7) X(a4, 8) X(a5, 9) X(a6, 10) X(a7, 11) \
    X(t3, 12) X(t4, 13) X(t5, 14) X(t6, 15)

/* An entry by the compiler, whose body is in it or called; or in assembler. */
#define BY_COMPILER(name) __attribute__((interrupt("machine"), aligned(4))) NAMED void name##_entry(void) { name##_body(); }
#define WHOLE(name, context) __attribute__((interrupt("machine"), aligned(4))) NAMED void name##_entry(void) { handle(context); }
#define BY_HAND(name) \
    __asm__(".text\n.balign 4\n.global " #name "_entry\n.type " #name "_entry, @function\n" #name "_entry:\n addi sp, sp, -" FRAME "\n" \
            ALL(S) " call " #name "_body\n" ALL(L) " addi sp, sp, " FRAME "\n mret\n.size " #name "_entry, . - " #name "_entry\n")

#if VECTORED
__asm__(".section .vectors, \"ax\"\n.option push\n.option norvc\n.balign 256\n.global trap_vectors\n.type trap_vectors, @function\n"
        "trap_vectors:\n j sync_entry\n j wrong\n j wrong\n j software_entry\n j wrong\n j wrong\n j wrong\n j timer_entry\n"
        ".size trap_vectors, . - trap_vectors\n.option pop\n.text\n");
#define TRAPS "trap_vectors\n addi a0, a0, 1"
#else
#define TRAPS "trap_entry"
#endif
__asm__(".section .start, \"ax\"\n.global _start\n.type _start, @function\n_start:\n la sp, stacks + 8192\n la a0, " TRAPS "\n"
        " csrw mtvec, a0\n call reset\n j .\n.size _start, . - _start\n.text\n");
char stacks[8192] __attribute__((aligned(16), used));

NAMED void run(void);
NAMED void wrong(void)
{
    counts.magic = 1;
    finish();
}
NAMED void reset(void)
{
    SET_CSR(mie, 0x88);
    run();
    ALL_OFF();
    finish();
}
