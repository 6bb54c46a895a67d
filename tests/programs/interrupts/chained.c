/* Three tasks that yield by `ecall`. Its handler goes to the next one, and raises the software interrupt, which is taken right behind
 * `mret`: before the task has done a step. A machine `virt` of RISC-V; says how often each function was called. */
typedef unsigned long u64;
typedef unsigned u32;
#define NOINLINE __attribute__((noinline))
enum { YIELDS = 60 };
static volatile u32 calls_f[3], calls_g[3], interrupts, yields;
static u64 stacks[3][256] __attribute__((aligned(16))), *sp_of[3];
static int current;

NOINLINE static void put(char c) { *(volatile char *)0x10000000 = c; }
NOINLINE static void say(const char *name, int i, u32 n)
{
    char digits[12];
    int at = 0;
    while (*name) put(*name++);
    put('0' + i);
    put(' ');
    do digits[at++] = '0' + n % 10;
    while (n /= 10);
    while (at) put(digits[--at]);
    put('\n');
}
NOINLINE static void yield(void) { __asm__ volatile("ecall" ::: "memory"); }
#define TASK(n) \
    NOINLINE u32 g##n(u32 x) { calls_g[n]++; yield(); return x + 1; } \
    NOINLINE u32 f##n(u32 x) { calls_f[n]++; return g##n(x) + 1; } \
    NOINLINE static void task##n(void) { for (u32 x = 1;;) x = f##n(x); }
TASK(0)
TASK(1)
TASK(2)
NOINLINE static void on_interrupt(void)
{
    interrupts++;
    *(volatile u32 *)0x02000000 = 0;
}
NOINLINE static void on_yield(u64 *frame)
{
    frame[31] += 4;
    if (++yields == YIELDS) {
        for (int i = 0; i < 3; i++) say("f", i, calls_f[i]), say("g", i, calls_g[i]);
        *(volatile u32 *)0x100000 = 0x5555;
        for (;;);
    }
    *(volatile u32 *)0x02000000 = 1;
}
u64 *trapped(u64 *frame, u64 cause)
{
    sp_of[current] = frame;
    if ((long)cause < 0) on_interrupt();
    else {
        on_yield(frame);
        current = (current + 1) % 3;
    }
    return sp_of[current];
}
#define SAVE(n) "sd x" #n ", 8 * " #n "(sp)\n"
#define LOAD(n) "ld x" #n ", 8 * " #n "(sp)\n"
#define ALL(X) X(1) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) \
    X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)
__asm__(".option norelax\n.globl trap\n.type trap, @function\n.balign 4\ntrap: addi sp, sp, -264\n" ALL(SAVE)
        "sd x31, 0(sp)\ncsrr t0, mepc\nsd t0, 8 * 31(sp)\nmv a0, sp\ncsrr a1, mcause\ncall trapped\nmv sp, a0\nld t0, 8 * 31(sp)\n"
        "csrw mepc, t0\nli t0, 0x1880\ncsrs mstatus, t0\n" ALL(LOAD) "ld x31, 0(sp)\naddi sp, sp, 264\nmret\n.size trap, .-trap\n"
        ".section .vectors, \"ax\"\n.globl _start\n.type _start, @function\n_start: la sp, first_stack\ncall boot\n"
        ".size _start, .-_start\n.bss\n.balign 16\n.space 4096\nfirst_stack: .space 16\n.text\n");
void trap(void);
void boot(void)
{
    void (*tasks[3])(void) = { task0, task1, task2 };
    for (int i = 0; i < 3; i++) {
        sp_of[i] = stacks[i] + 256 - 34;
        sp_of[i][31] = (u64)tasks[i];
    }
    __asm__ volatile("csrw mtvec, %0\ncsrw mie, %1" ::"r"(trap), "r"(8ul));
    __asm__ volatile("mv sp, %0\ncsrw mepc, %1\nli t0, 0x1880\ncsrs mstatus, t0\nmret" ::"r"(sp_of[0] + 33), "r"(tasks[0]));
}
