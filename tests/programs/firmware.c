/* A firmware for a Cortex-M3: five times produce, an exception, consume; then it ends the emulator. */
typedef void Handler(void);

static int table[16];
static volatile int exceptions, result;

__attribute__((noinline)) void produce(int n)
{
    for (int i = 0; i < 16; i++) table[i] = i * n;
}

__attribute__((noinline)) int consume(void)
{
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += table[i];
    return sum;
}

void svc(void) { exceptions++; }

void fault(void)
{
    for (;;);
}

static void stop(void)
{
    register int what __asm__("r0") = 0x18;
    register int why __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(what), "r"(why) : "memory");
}

void reset(void)
{
    for (int k = 0; k < 5; k++) {
        produce(k);
        __asm__ volatile("svc 0" : : : "memory");
        result += consume();
    }
    stop();
    fault();
}

__attribute__((section(".vectors"), used)) static Handler *const vectors[16] = {
    (Handler *)0x20010000, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, svc, 0, 0, fault, fault,
};
