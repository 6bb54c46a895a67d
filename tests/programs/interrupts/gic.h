/* ARM's interrupt controller, version 2: software's own interrupts (0 to 15) and the timer's. */
#define REG(address) (*(volatile unsigned *)(unsigned long)(address))
#define GICD_CTLR REG(GICD)
#define GICD_ISENABLER REG(GICD + 0x100)
#define GICD_IPRIORITYR(n) (*(volatile unsigned char *)(unsigned long)(GICD + 0x400 + (n)))
#define GICD_SGIR REG(GICD + 0xf00)
#define GICC_CTLR REG(GICC)
#define GICC_PMR REG(GICC + 4)
#define GICC_IAR REG(GICC + 0xc)
#define GICC_EOIR REG(GICC + 0x10)

typedef void Handler(void);
static Handler *const volatile handlers[CONTEXTS];
static const unsigned char nests[CONTEXTS];

/* Called with interrupts off. */
NAMED void irq_body(void)
{
    unsigned id = GICC_IAR, number = id & 1023, context = number == 1023 ? SPURIOUS : context_of[number];
    unsigned before = begin(context, active, 0);
    if (nests[context]) ALL_ON();
    handlers[context]();
    ALL_OFF();
    active = before;
    if (number != 1023) GICC_EOIR = id;
}

INLINE void pend(unsigned number)
{
    GICD_SGIR = 2u << 24 | number;
    __asm__ volatile("dsb sy" : : : "memory");
}

#define MASKED_BELOW(level, ...) \
    do { \
        unsigned masked = GICC_PMR; \
        if (level < masked) GICC_PMR = level; \
        __VA_ARGS__ \
        GICC_PMR = masked; \
    } while (0)

INLINE void prepare_interrupts(void)
{
    GICD_ISENABLER = 0xffff | 1u << TIMER;
    GICD_CTLR = 1;
    GICC_PMR = 0xff;
    GICC_CTLR = 1;
}
