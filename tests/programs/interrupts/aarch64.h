/* AArch64 at EL1. */
#include "count.h"

#define WFI() __asm__ volatile("wfi" : : : "memory")
#define ALL_OFF() __asm__ volatile("msr daifset, #2" : : : "memory")
#define ALL_ON() __asm__ volatile("msr daifclr, #2" : : : "memory")
#include "gic.h"

#define MASKED(...) \
    do { \
        unsigned long masked; \
        __asm__ volatile("mrs %0, daif\n msr daifset, #2" : "=r"(masked) : : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("msr daif, %0" : : "r"(masked) : "memory"); \
    } while (0)

static unsigned long semihosting(unsigned long what, const void *with)
{
    register unsigned long x0 __asm__("x0") = what;
    register const void *x1 __asm__("x1") = with;
    __asm__ volatile("hlt 0xf000" : "+r"(x0) : "r"(x1) : "memory");
    return x0;
}

INLINE void timer(unsigned ticks)
{
    __asm__ volatile("msr cntv_tval_el0, %0\n msr cntv_ctl_el0, %1" : : "r"((unsigned long)ticks), "r"(1l) : "memory");
}

INLINE void timer_off(void) { __asm__ volatile("msr cntv_ctl_el0, xzr" : : : "memory"); }

#define SVC() __asm__ volatile("svc 3" : : : "memory")
#define BRK() __asm__ volatile("brk 7" : : : "memory")
#define UDF() __asm__ volatile(".inst 7" : : : "memory")
/* Loads from where nothing is: it is in the midst of a block. */
#define FAULT() __asm__ volatile("ldr x2, [%0]\n nop\n nop" : : "r"(0x3f000000ul) : "x2", "memory")

/* What the entry saved: x0 to x18, x29, x30, where it goes back to, the state. */
NAMED void sync_body(unsigned long *saved)
{
    unsigned long why;
    __asm__ volatile("mrs %0, esr_el1" : "=r"(why));
    unsigned kind = why >> 26 & 63;
    if (kind != 0x15) saved[22] += 4;
    unsigned context = kind == 0x15 ? SVC_CONTEXT : UNDEFINED_CONTEXT;
    unsigned before = begin(context, active, 0);
    if (nests[context]) ALL_ON();
    handlers[context]();
    ALL_OFF();
    active = before;
}

#define SAVE \
    " sub sp, sp, #192\n stp x0, x1, [sp]\n stp x2, x3, [sp, #16]\n stp x4, x5, [sp, #32]\n stp x6, x7, [sp, #48]\n" \
    " stp x8, x9, [sp, #64]\n stp x10, x11, [sp, #80]\n stp x12, x13, [sp, #96]\n stp x14, x15, [sp, #112]\n" \
    " stp x16, x17, [sp, #128]\n stp x18, x29, [sp, #144]\n mrs x1, elr_el1\n str x30, [sp, #160]\n" \
    " mrs x2, spsr_el1\n stp x1, x2, [sp, #176]\n"
#define BACK \
    " ldp x1, x2, [sp, #176]\n msr elr_el1, x1\n msr spsr_el1, x2\n" \
    " ldr x30, [sp, #160]\n ldp x18, x29, [sp, #144]\n ldp x16, x17, [sp, #128]\n ldp x14, x15, [sp, #112]\n" \
    " ldp x12, x13, [sp, #96]\n ldp x10, x11, [sp, #80]\n ldp x8, x9, [sp, #64]\n ldp x6, x7, [sp, #48]\n" \
    " ldp x4, x5, [sp, #32]\n ldp x2, x3, [sp, #16]\n ldp x0, x1, [sp]\n add sp, sp, #192\n eret\n"
#define IRQ SAVE " bl irq_body\n"
#define SYNC SAVE " mov x0, sp\n bl sync_body\n"
#define FUNCTION(name, code) ".global " name "\n.type " name ", %function\n" name ":\n" code ".size " name ", . - " name "\n"

/* One table of jumps; a function in each place of the table, which jumps, too; or which is all of the entry (of traps, with an end
 * elsewhere: there is room for 32 instructions). */
#define NONE ".balign 128\n b wrong\n"
#if SLOTS == 0
#define PLACES(n) ".balign 128\n b sync_entry\n.balign 128\n b irq_entry\n" NONE NONE
#define TABLE(code) FUNCTION("vectors", code)
#elif SLOTS == 1
#define PLACES(n) \
    ".balign 128\n" FUNCTION("vector_sync" n, " b sync_entry\n") ".balign 128\n" FUNCTION("vector_irq" n, " b irq_entry\n") NONE NONE
#define TABLE(code) "vectors:\n" code
#else
#define PLACES(n) ".balign 128\n" FUNCTION("vector_sync" n, SYNC " b leave_trap\n") ".balign 128\n" FUNCTION("vector_irq" n, IRQ BACK) NONE NONE
#define TABLE(code) "vectors:\n" code
#endif
__asm__(".section .vectors, \"ax\"\n.balign 2048\n" TABLE(PLACES("_0") PLACES("_x") NONE NONE NONE NONE NONE NONE NONE NONE) ".text\n");
#if SLOTS == 2
__asm__(".text\n.balign 4\n" FUNCTION("leave_trap", BACK));
#else
__asm__(".text\n.balign 4\n" FUNCTION("irq_entry", IRQ BACK) FUNCTION("sync_entry", SYNC BACK));
#endif

__asm__(".section .start, \"ax\"\n" FUNCTION("_start",
        " ldr x0, =stacks\n add x0, x0, #8192\n mov sp, x0\n add x0, x0, #8192\n msr sp_el0, x0\n msr spsel, #" MAIN_STACK "\n"
        " ldr x0, =vectors\n msr vbar_el1, x0\n isb\n bl reset\n b .\n") ".ltorg\n.text\n");
char stacks[2 * 8192] __attribute__((aligned(16), used));

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
