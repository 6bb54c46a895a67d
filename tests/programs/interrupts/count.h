/* Firmware that counts itself: what tests/it/interrupts.rs generates begins with one of the headers beside this one, and this.
 *
 * A context is a task or what runs at an exception; `active` is the number of the one that runs. Each context has counters of
 * its own, so that no increment is lost to an interrupt. All stand in `counts`, which is written to a file at the end. */
#define NAMED __attribute__((noipa, noinline, used))
#define INLINE static inline __attribute__((always_inline))

static volatile unsigned active;

/* Read by the test in this order. */
static struct {
    volatile unsigned magic;
    /* Calls from each place of the source. */
    volatile unsigned site[CONTEXTS][SITES];
    /* How often the context began (of those that are exceptions). */
    volatile unsigned entries[CONTEXTS];
    /* Which one it interrupted; of these, before that one had executed an instruction. */
    volatile unsigned nest[CONTEXTS][CONTEXTS];
    volatile unsigned first[CONTEXTS][CONTEXTS];
    /* Traps that were asked for, by svc and the like. */
    volatile unsigned traps[CONTEXTS];
} counts = { .magic = 0x636f756e };

#define COUNT(number) (counts.site[active][number]++)
#define TRAPPED() (counts.traps[active]++)

/* How often a context may still raise each of the others: what bounds the run. */
static volatile unsigned budget[CONTEXTS][CONTEXTS] = BUDGETS;

INLINE int take(unsigned of)
{
    unsigned own = active, left = budget[own][of];
    if (left) budget[own][of] = left - 1;
    return left != 0;
}

static volatile unsigned random_state[CONTEXTS];

INLINE unsigned random_number(void)
{
    unsigned own = active;
    unsigned next = (random_state[own] + own + SEED) * 1664525u + 1013904223u;
    random_state[own] = next;
    return next >> 12;
}

/* The context begins: whom it interrupted, and whether that one had executed anything. */
INLINE unsigned begin(unsigned context, unsigned outer, int first)
{
    unsigned before = active;
    active = context;
    counts.entries[context]++;
    counts.nest[outer][context]++;
    if (first) counts.first[outer][context]++;
    return before;
}

/* Data that all contexts share. */
static volatile unsigned data[16];

/* ---- the end ---- */

#define SYS_OPEN 1
#define SYS_WRITE 5
#define SYS_EXIT 0x18

static unsigned long semihosting(unsigned long what, const void *with);

NAMED void finish(void)
{
    static const char name[] = "counts";
    static volatile unsigned long block[3];
    block[0] = (unsigned long)name, block[1] = 5 /* wb */, block[2] = sizeof name - 1;
    block[0] = semihosting(SYS_OPEN, (const void *)block);
    block[1] = (unsigned long)&counts, block[2] = sizeof counts;
    semihosting(SYS_WRITE, (const void *)block);
    static const unsigned long exited[2] = { 0x20026, 0 };
    semihosting(SYS_EXIT, sizeof(long) == 8 ? (const void *)exited : (const void *)0x20026);
    for (;;) ;
}
