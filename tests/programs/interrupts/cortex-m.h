/* ARM's M profile: the processor stores what it interrupts; whom, it says itself in the frame. */
#include "count.h"

#define REG(address) (*(volatile unsigned *)(address))
#define SYST_CSR REG(0xe000e010)
#define SYST_RVR REG(0xe000e014)
#define SYST_CVR REG(0xe000e018)
#define NVIC_ISER REG(0xe000e100)
#define NVIC_ISPR REG(0xe000e200)
#define NVIC_IPR(n) REG(0xe000e400 + 4 * (n))
#define ICSR REG(0xe000ed04)
#define AIRCR REG(0xe000ed0c)
#define SHPR(n) REG(0xe000ed14 + 4 * (n)) /* from 1 */
#define SHCSR REG(0xe000ed24)
#define CPACR REG(0xe000ed88)
#define STIR REG(0xe000ef00)
#define FPCCR REG(0xe000ef34)

typedef void Handler(void);
extern Handler *const vectors[];

#define READ(name, of) \
    INLINE unsigned name(void) \
    { \
        unsigned value; \
        __asm__ volatile("mrs %0, " #of : "=r"(value) : : "memory"); \
        return value; \
    }
READ(psp, psp)
READ(ipsr, ipsr)
READ(primask, primask)
#if BASEPRI
READ(basepri, basepri)
READ(faultmask, faultmask)
#endif

static unsigned long semihosting(unsigned long what, const void *with)
{
    register unsigned long r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* The frame says the number of the exception that was interrupted (0: a task), and where. `at` is the stack pointer at entry. */
INLINE unsigned entered(unsigned context, unsigned exc_return, const void *at)
{
    const volatile unsigned *frame = exc_return & 4 ? (const unsigned *)psp() : at;
    unsigned outer = frame[7] & 0x1ff;
    return begin(context, context_of[outer], outer && frame[6] == ((unsigned)vectors[outer] & ~1u));
}

/* In a handler that is a function of C. */
#define ENTERED(context) entered(context, (unsigned)__builtin_return_address(0), __builtin_dwarf_cfa())

INLINE void pend(unsigned number)
{
    if (number == 2) ICSR = 1u << 31;
    else if (number == 14) ICSR = 1u << 28;
    else if (number == 15) ICSR = 1u << 26;
    else NVIC_ISPR = 1u << (number - 16);
    __asm__ volatile("dsb" : : : "memory");
}

INLINE void pend_by_stir(unsigned number) { STIR = number - 16; }

INLINE void timer(unsigned ticks)
{
    SYST_RVR = ticks;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

INLINE void timer_off(void) { SYST_CSR = 0; }

#define SVC() __asm__ volatile("svc 3" : : : "memory")
#define UDF() __asm__ volatile("udf #7" : : : "memory")
/* Loads from an address that is no multiple of four: it is in the midst of a block. */
#if BASEPRI
#define FAULT() __asm__ volatile("ldm.w %0, {r2, r3}\n nop\n nop" : : "r"(2) : "r2", "r3", "memory")
#else
#define FAULT() __asm__ volatile("ldr r2, [%0]\n nop\n nop" : : "l"(2) : "r2", "memory")
#endif

/* The frame of a fault goes on behind the instruction. */
INLINE void skip(unsigned exc_return, const void *at)
{
    volatile unsigned *frame = exc_return & 4 ? (volatile unsigned *)psp() : (volatile unsigned *)at;
    frame[6] += *(volatile unsigned short *)frame[6] >= 0xe800 ? 4 : 2;
}

#define MASKED(...) \
    do { \
        unsigned masked = primask(); \
        __asm__ volatile("cpsid i" : : : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("msr primask, %0" : : "r"(masked) : "memory"); \
    } while (0)
#define MASKED_BELOW(level, ...) \
    do { \
        unsigned masked = basepri(); \
        __asm__ volatile("msr basepri_max, %0" : : "r"(level) : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("msr basepri, %0" : : "r"(masked) : "memory"); \
    } while (0)
#define MASKED_FAULTS(...) \
    do { \
        unsigned masked = faultmask(); \
        __asm__ volatile("cpsid f" : : : "memory"); \
        __VA_ARGS__ \
        __asm__ volatile("msr faultmask, %0" : : "r"(masked) : "memory"); \
    } while (0)

#define WFI() __asm__ volatile("wfi" : : : "memory")
#define ALL_OFF() __asm__ volatile("cpsid i" : : : "memory")
#define ALL_ON() __asm__ volatile("cpsie i" : : : "memory")

/* Handlers that begin in assembler: body(EXC_RETURN, stack pointer), by a jump or by a call. */
#define STUB_JUMPS(name) \
    __asm__(".text\n.syntax unified\n.thumb\n.global " #name "\n.type " #name ", %function\n.thumb_func\n" \
            #name ":\n mov r0, lr\n mov r1, sp\n ldr r2, =" #name "_body\n bx r2\n.ltorg\n.size " #name ", . - " #name "\n")
#define STUB_CALLS(name) \
    __asm__(".text\n.syntax unified\n.thumb\n.global " #name "\n.type " #name ", %function\n.thumb_func\n" \
            #name ":\n mov r0, lr\n mov r1, sp\n push {r4, lr}\n bl " #name "_body\n pop {r4, pc}\n" \
            ".size " #name ", . - " #name "\n")

#if TASKS > 1
/* ---- tasks: each on its stack, switched by PendSV ---- */

static unsigned stacks[TASKS][TASK_STACK] __attribute__((aligned(8)));
static volatile unsigned stack_of[TASKS], ended[TASKS];
static volatile unsigned task;

/* Called by the switch, with where the task's registers are now; gives those of the next one. */
NAMED unsigned next_task(unsigned sp, unsigned exc_return)
{
    const volatile unsigned *frame = (const volatile unsigned *)psp();
    (void)exc_return;
    begin(context_of[14], context_of[frame[7] & 0x1ff], 0);
    stack_of[task] = sp;
    unsigned next = task, skip = random_number() & 1;
    for (unsigned i = 0; i < 2 * TASKS; i++) {
        next = next + 1 == TASKS ? 0 : next + 1;
        if (!ended[next] && !skip--) break;
    }
    if (ended[next]) next = 0;
    PENDSV_WORK
    task = next;
    active = next;
    return stack_of[next];
}

#define SWITCH_HEAD ".text\n.syntax unified\n.thumb\n.global pendsv\n.type pendsv, %function\n.thumb_func\npendsv:\n mrs r0, psp\n"
#define SWITCH_TAIL ".size pendsv, . - pendsv\n"
#if !BASEPRI
__asm__(SWITCH_HEAD
        " subs r0, #36\n stmia r0!, {r4-r7}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n stmia r0!, {r4-r7}\n"
        " mov r1, lr\n stmia r0!, {r1}\n subs r0, #36\n bl next_task\n"
        " adds r0, #16\n ldmia r0!, {r4-r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n ldmia r0!, {r1}\n"
        " msr psp, r0\n subs r0, #36\n ldmia r0!, {r4-r7}\n bx r1\n" SWITCH_TAIL);
#elif FLOATS
__asm__(SWITCH_HEAD
        " tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n stmdb r0!, {r4-r11, lr}\n mov r1, lr\n bl next_task\n"
        " ldmia r0!, {r4-r11, lr}\n tst lr, #16\n it eq\n vldmiaeq r0!, {s16-s31}\n msr psp, r0\n bx lr\n" SWITCH_TAIL);
#else
__asm__(SWITCH_HEAD
        " stmdb r0!, {r4-r11, lr}\n mov r1, lr\n bl next_task\n ldmia r0!, {r4-r11, lr}\n msr psp, r0\n bx lr\n" SWITCH_TAIL);
#endif

INLINE void prepare(unsigned number, Handler *run)
{
    unsigned *sp = stacks[number] + TASK_STACK - 17;
    sp[8] = EXC_RETURN;
    sp[9 + 6] = (unsigned)run & ~1u;
    sp[9 + 7] = 1u << 24;
    stack_of[number] = (unsigned)sp;
}

#define TASK_ENDS(number) \
    do { \
        ended[number] = 1; \
        for (;;) pend(14); \
    } while (0)

INLINE int others_run(void)
{
    for (unsigned i = 1; i < TASKS; i++)
        if (!ended[i]) return 1;
    return 0;
}
#endif

NAMED void run(void);

NAMED void wrong(void)
{
    counts.magic = ipsr();
    finish();
}

/* On the process stack where there are tasks. */
NAMED void reset(void)
{
#if FLOATS
    CPACR |= 15u << 20;
    __asm__ volatile("dsb\n isb" : : : "memory");
#endif
#if TASKS > 1
    unsigned top = (unsigned)(stacks[0] + TASK_STACK);
    __asm__ volatile("msr psp, %0\n movs r0, #2\n msr control, r0\n isb" : : "r"(top) : "r0", "memory");
#endif
    run();
    ALL_OFF();
    finish();
}
