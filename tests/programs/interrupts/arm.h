/* ARM's A profile, 32 bits: IRQ, SVC and undefined instructions, in code of A32 or T32. */
#include "count.h"

#define WFI() __asm__ volatile("wfi" : : : "memory")
#define ALL_OFF() __asm__ volatile("cpsid i" : : : "memory")
#define ALL_ON() __asm__ volatile("cpsie i" : : : "memory")
#include "gic.h"

#define MASKED(...) \
    do { \
        unsigned masked; \
        __asm__ volatile("mrs %0, cpsr\n cpsid i" : "=r"(masked) : : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("msr cpsr_c, %0" : : "r"(masked) : "memory"); \
    } while (0)

static unsigned long semihosting(unsigned long what, const void *with)
{
    register unsigned long r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
#ifdef __thumb__
    __asm__ volatile(".inst.n 0xbabc" : "+r"(r0) : "r"(r1) : "memory"); /* hlt 0x3c */
#else
    __asm__ volatile(".inst 0xe10f0070" : "+r"(r0) : "r"(r1) : "memory"); /* hlt 0xf000 */
#endif
    return r0;
}

#if PRIVATE_TIMER
INLINE void timer(unsigned ticks)
{
    REG(PRIVATE_TIMER + 8) = 0;
    REG(PRIVATE_TIMER + 12) = 1;
    REG(PRIVATE_TIMER) = ticks;
    REG(PRIVATE_TIMER + 8) = 5;
}

INLINE void timer_off(void)
{
    REG(PRIVATE_TIMER + 8) = 0;
    REG(PRIVATE_TIMER + 12) = 1;
}
#else
INLINE void timer(unsigned ticks)
{
    __asm__ volatile("mcr p15, 0, %0, c14, c3, 0\n mcr p15, 0, %1, c14, c3, 1" : : "r"(ticks), "r"(1) : "memory");
}

INLINE void timer_off(void) { __asm__ volatile("mcr p15, 0, %0, c14, c3, 1" : : "r"(0) : "memory"); }
#endif

#define STACKS ((unsigned)stacks)
extern char stacks[];
#define SVC() __asm__ volatile("svc 3" : : : "lr", "memory")
#ifdef __thumb__
#define UDF() __asm__ volatile("udf #7" : : : "memory")
#define FAULT() __asm__ volatile("ldm.w %0, {r2, r3}\n nop\n nop" : : "r"(STACKS + 2) : "r2", "r3", "memory")
#define MODE ".thumb\n.thumb_func\n"
#else
#define UDF() __asm__ volatile(".inst 0xe7f000f7" : : : "memory")
/* From an address that is no multiple of four: it is in the midst of a block. */
#define FAULT() __asm__ volatile("ldm %0, {r2, r3}\n nop\n nop" : : "r"(STACKS + 2) : "r2", "r3", "memory")
#define MODE ".arm\n"
#endif

NAMED void svc_body(void)
{
    unsigned before = begin(SVC_CONTEXT, active, 0);
    if (nests[SVC_CONTEXT]) ALL_ON();
    handlers[SVC_CONTEXT]();
    ALL_OFF();
    active = before;
}

NAMED void undefined_body(void)
{
    unsigned before = begin(UNDEFINED_CONTEXT, active, 0);
    if (nests[UNDEFINED_CONTEXT]) ALL_ON();
    handlers[UNDEFINED_CONTEXT]();
    ALL_OFF();
    active = before;
}

NAMED void abort_body(void)
{
    unsigned before = begin(ABORT_CONTEXT, active, 0);
    if (nests[ABORT_CONTEXT]) ALL_ON();
    handlers[ABORT_CONTEXT]();
    ALL_OFF();
    active = before;
}

/* By the compiler; by srs and rfe, on the stack of SVC mode, so that it nests; by ldm with ^, in its own mode. */
#define BY_COMPILER(name, kind) __attribute__((interrupt(kind))) NAMED void name##_entry(void) { name##_body(); }
#define BY_RFE(name, adjust) \
    __asm__(".text\n.syntax unified\n.align 2\n.global " #name "_entry\n.type " #name "_entry, %function\n" MODE \
            #name "_entry:\n " adjust "\n srsdb sp!, #0x13\n cps #0x13\n push {r0-r3, r12, lr}\n" \
            " mov r0, sp\n and r1, r0, #4\n sub r0, r0, r1\n mov sp, r0\n push {r1, r2}\n bl " #name "_body\n pop {r1, r2}\n" \
            " add sp, sp, r1\n pop {r0-r3, r12, lr}\n rfeia sp!\n.size " #name "_entry, . - " #name "_entry\n")
#define BY_LDM(name, adjust) \
    __asm__(".text\n.syntax unified\n.align 2\n.global " #name "_entry\n.type " #name "_entry, %function\n.arm\n" \
            #name "_entry:\n " adjust "\n push {r0-r3, r12, lr}\n bl " #name "_body\n ldm sp!, {r0-r3, r12, pc}^\n" \
            ".size " #name "_entry, . - " #name "_entry\n")

/* The table: jumps, or loads of the program counter. Its state is ARM's, or Thumb's if the processor is told so. */
#if TABLE_THUMB
#define JUMP(to) " b.w " to "\n"
#define TABLE_MODE ".thumb\n.thumb_func\n"
#elif TABLE_LOADS
#define JUMP(to) " ldr pc, =" to "\n"
#define TABLE_MODE ".arm\n"
#else
#define JUMP(to) " b " to "\n"
#define TABLE_MODE ".arm\n"
#endif
__asm__(".section .vectors, \"ax\"\n.syntax unified\n.balign 32\n.global vectors\n.type vectors, %function\n" TABLE_MODE
        "vectors:\n" JUMP("wrong") JUMP("undefined_entry") JUMP("svc_entry") JUMP("wrong") JUMP("abort_entry") JUMP("wrong")
        JUMP("irq_entry") JUMP("wrong") ".size vectors, . - vectors\n.ltorg\n.text\n");

__asm__(".section .start, \"ax\"\n.syntax unified\n.arm\n.global _start\n.type _start, %function\n_start:\n"
        " ldr r0, =stacks\n add r0, r0, #4096\n cps #0x12\n mov sp, r0\n add r0, r0, #4096\n cps #0x1b\n mov sp, r0\n"
        " add r0, r0, #4096\n cps #0x17\n mov sp, r0\n"
        " add r0, r0, #4096\n cps #0x13\n mov sp, r0\n add r0, r0, #4096\n cps #0x1f\n mov sp, r0\n cps #" MAIN_MODE "\n"
        " ldr r0, =vectors\n mcr p15, 0, r0, c12, c0, 0\n mrc p15, 0, r0, c1, c0, 0\n orr r0, r0, #" TABLE_BIT "\n"
        " bic r0, r0, #0x2000\n mcr p15, 0, r0, c1, c0, 0\n bl reset\n b .\n.size _start, . - _start\n.ltorg\n.text\n");
char stacks[5 * 4096] __attribute__((aligned(8), used));

NAMED void run(void);
NAMED void wrong(void)
{
    counts.magic = 1;
    finish();
}
NAMED void reset(void)
{
    prepare_interrupts();
    run();
    ALL_OFF();
    finish();
}
