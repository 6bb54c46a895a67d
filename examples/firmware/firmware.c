/* A firmware for a Cortex-M3 (QEMU's board mps2-an385): numbers come in by a UART, are smoothed, and go out by it.
 *
 *     UART -> uart_receive (interrupt) -> ring -> measure (task) -> queue -> show (task) -> UART
 *
 * The two tasks and main, which has nothing to do, are switched by PendSV; SysTick asks for it every millisecond. An empty line
 * ends it. */
typedef unsigned int u32;
typedef void handler(void);

#define REG(address) (*(volatile u32 *)(address))
#define UART_DATA REG(0x40004000)
#define UART_STATE REG(0x40004004) /* bit 0: what is to be sent waits still; bit 1: something was received */
#define UART_CONTROL REG(0x40004008)
#define UART_CLEAR REG(0x4000400c)
#define UART_BAUD REG(0x40004010)
#define SYSTICK_CONTROL REG(0xe000e010)
#define SYSTICK_RELOAD REG(0xe000e014)
#define NVIC_ENABLE REG(0xe000e100)
#define NVIC_PRIORITY REG(0xe000e400)
#define ICSR REG(0xe000ed04)
#define SYSTEM_PRIORITY REG(0xe000ed20)

enum { SENDS = 1, RECEIVES = 2, INTERRUPTS = 8, RING = 64, QUEUE = 8, WINDOW = 4 };

/* ---- tasks ---- */

enum { IDLE, MEASURE, SHOW, TASKS };

struct task {
    u32 *sp;
    /* It waits until this is not `seen` any more. */
    const volatile u32 *waits_for;
    u32 seen;
};

static struct task tasks[TASKS];
static u32 stacks[TASKS][256] __attribute__((aligned(8)));
static volatile u32 running, milliseconds;

static void switch_soon(void) { ICSR = 1u << 28; }

static void wait(const volatile u32 *counter, u32 seen)
{
    tasks[running].seen = seen;
    tasks[running].waits_for = counter;
    switch_soon();
    while (*counter == seen) __asm__ volatile("wfi");
}

static int is_ready(const struct task *task) { return !task->waits_for || *task->waits_for != task->seen; }

/* Called by pendsv: keeps where this task's registers are, and gives those of the next one. */
__attribute__((used)) static u32 *next_task(u32 *sp)
{
    tasks[running].sp = sp;
    u32 next = running == MEASURE ? SHOW : MEASURE;
    if (!is_ready(&tasks[next])) next = MEASURE + SHOW - next;
    if (!is_ready(&tasks[next])) next = IDLE;
    running = next;
    return tasks[next].sp;
}

__attribute__((naked)) static void pendsv(void)
{
    __asm__("mrs r0, psp\n"
            "stmdb r0!, {r4-r11, lr}\n"
            "bl next_task\n"
            "ldmia r0!, {r4-r11, lr}\n"
            "msr psp, r0\n"
            "bx lr\n");
}

static void start(u32 number, handler *task)
{
    u32 *sp = stacks[number] + 256 - 17; /* r4 to r11, lr; what the processor stacks: r0 to r3, r12, lr, pc, xpsr */
    sp[8] = 0xfffffffd;
    sp[15] = (u32)task & ~1u;
    sp[16] = 1u << 24;
    tasks[number].sp = sp;
}

static void systick(void)
{
    milliseconds++;
    switch_soon();
}

/* ---- from the UART into the ring ---- */

static volatile unsigned char ring[RING];
static volatile u32 received, taken;

static void uart_receive(void)
{
    UART_CLEAR = 2;
    ring[received % RING] = UART_DATA;
    received++;
    /* Who sends waits until there is room. */
    if (received - taken == RING) UART_CONTROL &= ~INTERRUPTS;
    switch_soon();
}

static u32 receive(void)
{
    while (received == taken) wait(&received, taken);
    u32 byte = ring[taken % RING];
    taken++;
    if (!(UART_CONTROL & INTERRUPTS)) UART_CONTROL |= INTERRUPTS;
    return byte;
}

/* ---- a number, and what is made of it ---- */

/* -1: the text has ended. */
static int read_number(void)
{
    int number = 0, digits = 0;
    for (;;) {
        u32 byte = receive();
        if (byte >= '0' && byte <= '9') number = 10 * number + (int)(byte - '0'), digits++;
        else if (digits) return number;
        else if (byte == '\n') return -1;
    }
}

static int window[WINDOW];
static u32 numbers;

static int smooth(int number)
{
    window[numbers++ % WINDOW] = number;
    u32 count = numbers < WINDOW ? numbers : WINDOW;
    int sum = 0;
    for (u32 i = 0; i < count; i++) sum += window[i];
    return sum / (int)count;
}

static volatile int queue[QUEUE];
static volatile u32 put, got;

static void measure(void)
{
    for (;;) {
        int number = read_number();
        int value = number < 0 ? number : smooth(number);
        while (put - got == QUEUE) wait(&got, put - QUEUE);
        queue[put % QUEUE] = value;
        put++;
    }
}

/* ---- from the queue to the UART ---- */

static void send(char byte)
{
    while (UART_STATE & 1) ;
    UART_DATA = (u32)byte;
}

static void send_number(int number)
{
    char digits[12];
    int n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) send(digits[--n]);
    send('\n');
}

static void end(void)
{
    register u32 what __asm__("r0") = 0x18, why __asm__("r1") = 0x20026;
    __asm__ volatile("cpsid i\n bkpt 0xab" : : "r"(what), "r"(why) : "memory");
    for (;;) ;
}

static void show(void)
{
    for (;;) {
        while (put == got) wait(&put, got);
        int value = queue[got % QUEUE];
        got++;
        if (value < 0) end();
        send_number(value);
    }
}

/* ---- the beginning ---- */

static void wrong(void)
{
    for (;;) ;
}

static void main(void)
{
    start(MEASURE, measure);
    start(SHOW, show);
    UART_BAUD = 16;
    UART_CONTROL = SENDS | RECEIVES | INTERRUPTS;
    SYSTEM_PRIORITY = 0xe0u << 16 | 0x40u << 24; /* PendSV comes last */
    NVIC_PRIORITY = 0x20;
    NVIC_ENABLE = 1;
    SYSTICK_RELOAD = 25000 - 1;
    SYSTICK_CONTROL = 7;
    for (;;) __asm__ volatile("wfi");
}

void reset(void)
{
    __asm__ volatile("msr psp, %0\n msr control, %1\n isb" : : "r"(stacks[IDLE] + 256), "r"(2) : "memory");
    main();
}

__attribute__((section(".vectors"), used)) static handler *const vectors[] = {
    (handler *)0x20010000, reset, wrong, wrong, wrong, wrong, wrong, 0, 0, 0, 0, wrong, wrong, 0, pendsv, systick,
    uart_receive,
};
