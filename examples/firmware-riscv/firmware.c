/* A firmware for RISC-V (QEMU's board virt, 32 or 64 bits): samples come in by a UART, are filtered, and go out by it.
 *
 *     UART -> poll (timer interrupt) -> ring -> read_sample -> filter -> send_number -> UART
 *
 * The ring and the filter's samples are in the tightly coupled memory (TCM), the rest in SRAM (memories.ld). An empty line ends it. */
typedef unsigned int u32;
typedef unsigned long word;

#define BYTE(address) (*(volatile unsigned char *)(address))
#define REG(address) (*(volatile u32 *)(address))
#define UART_DATA BYTE(0x10000000)
#define UART_STATE BYTE(0x10000005) /* bit 0: something was received; bit 5: there is room to send */
#define TIME_LOW REG(0x0200bff8)
#define COMPARE_LOW REG(0x02004000)
#define COMPARE_HIGH REG(0x02004004)
#define BOARD REG(0x00100000) /* 0x5555 ends the emulator */

#define TCM __attribute__((section(".tcm")))

enum { RING = 64, TAPS = 4, PERIOD = 2000 };

/* ---- from the UART into the ring, every fifth of a millisecond ---- */

TCM static volatile unsigned char ring[RING];
static volatile u32 received, taken;

static void poll(void)
{
    while ((UART_STATE & 1) && received - taken < RING) {
        ring[received % RING] = UART_DATA;
        received++;
    }
}

static void wait_for_tick(void)
{
    COMPARE_HIGH = 0xffffffff;
    COMPARE_LOW = TIME_LOW + PERIOD;
    COMPARE_HIGH = 0;
}

__attribute__((interrupt("machine"), aligned(4))) static void timer(void)
{
    wait_for_tick();
    poll();
}

/* ---- a sample, and what is made of it ---- */

static u32 receive(void)
{
    while (received == taken) __asm__ volatile("wfi");
    u32 byte = ring[taken % RING];
    taken++;
    return byte;
}

/* -1: the text has ended. */
static int read_sample(void)
{
    int number = 0, digits = 0;
    for (;;) {
        u32 byte = receive();
        if (byte >= '0' && byte <= '9') number = 10 * number + (int)(byte - '0'), digits++;
        else if (digits) return number;
        else if (byte == '\n') return -1;
    }
}

static const int taps[TAPS] = {4, 3, 2, 1};
TCM static int samples[TAPS];
static u32 count;

static int filter(int sample)
{
    samples[count++ % TAPS] = sample;
    int sum = 0;
    for (u32 i = 0; i < TAPS && i < count; i++) sum += taps[i] * samples[(count - 1 - i) % TAPS];
    return sum / 10;
}

/* ---- to the UART ---- */

static void send(char byte)
{
    while (!(UART_STATE & 0x20)) ;
    UART_DATA = (unsigned char)byte;
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

__attribute__((used)) static void run(void)
{
    __asm__ volatile("csrw mtvec, %0" : : "r"(timer));
    wait_for_tick();
    __asm__ volatile("csrw mie, %0\n csrsi mstatus, 8" : : "r"((word)0x80));
    for (;;) {
        int sample = read_sample();
        if (sample < 0) break;
        send_number(filter(sample));
    }
    __asm__ volatile("csrci mstatus, 8");
    BOARD = 0x5555;
    for (;;) ;
}

__attribute__((naked, section(".entry"))) void entry(void)
{
    __asm__ volatile("la sp, stack_end\n j run");
}
