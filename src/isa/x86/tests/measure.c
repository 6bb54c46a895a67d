// Asks the processor which bytes of registers an instruction reads and writes: it runs the instruction on random
// registers, changes one byte at a time and looks at what else changes.
//
// A line of input: the instruction in hex, the flags that it defines (hex), then the bytes that it may read, as
// offset+size in the register file of addfg. A line of output: `reads` and such ranges, `writes` and such ranges, `flags`
// if it reads flags; or `fault` if this processor does not run it. With the argument `width` it prints how many bytes
// the processor's vector registers have: it measures no others.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { VECTOR_COUNT = 16, FLAGS = 136, MASKS = 192, VECTORS = 384, END = 384 + VECTOR_COUNT * 64, RSP = 32 };

// What is loaded before the instruction and stored behind it; the numbering is src/registers/x86.rs.
uint8_t regs[END] __attribute__((aligned(64)));
uint64_t saved_rsp;
void *entry;

#define EACH16(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define EACH8(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define LOAD_X(n) "movups regs+384+64*" #n "(%rip),%xmm" #n "\n"
#define KEEP_X(n) "movups %xmm" #n ",regs+384+64*" #n "(%rip)\n"
#define LOAD_Y(n) "vmovups regs+384+64*" #n "(%rip),%ymm" #n "\n"
#define KEEP_Y(n) "vmovups %ymm" #n ",regs+384+64*" #n "(%rip)\n"
#define LOAD_Z(n) "vmovups regs+384+64*" #n "(%rip),%zmm" #n "\n"
#define KEEP_Z(n) "vmovups %zmm" #n ",regs+384+64*" #n "(%rip)\n"
#define LOAD_K(n) "kmovq regs+192+8*" #n "(%rip),%k" #n "\n"
#define KEEP_K(n) "kmovq %k" #n ",regs+192+8*" #n "(%rip)\n"
#define GENERAL(M) \
    M(0, rax) M(1, rcx) M(2, rdx) M(3, rbx) M(5, rbp) M(6, rsi) M(7, rdi) M(8, r8) M(9, r9) M(10, r10) M(11, r11) \
    M(12, r12) M(13, r13) M(14, r14) M(15, r15)
#define LOAD_R(n, r) "mov regs+8*" #n "(%rip),%" #r "\n"
#define KEEP_R(n, r) "mov %" #r ",regs+8*" #n "(%rip)\n"
#define TRAMPOLINE(name, LOADS, KEEPS) \
    asm(".text\n.globl run_" name "\nrun_" name ":\n" \
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,saved_rsp(%rip)\n" LOADS \
        "push regs+136(%rip)\npopfq\n" GENERAL(LOAD_R) "jmp *entry(%rip)\n.globl back_" name "\nback_" name ":\n" \
        GENERAL(KEEP_R) "pushfq\npopq regs+136(%rip)\ncld\n" KEEPS \
        "mov saved_rsp(%rip),%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n")

TRAMPOLINE("sse", EACH16(LOAD_X), EACH16(KEEP_X));
TRAMPOLINE("avx", EACH16(LOAD_Y), EACH16(KEEP_Y) "vzeroupper\n");
TRAMPOLINE("avx512", EACH16(LOAD_Z) EACH8(LOAD_K), EACH16(KEEP_Z) EACH8(KEEP_K) "vzeroupper\n");
extern void run_sse(void), run_avx(void), run_avx512(void), back_sse(void), back_avx(void), back_avx512(void);

static void (*run)(void);
static void *back;
static int vector_bytes;
static sigjmp_buf fault;

static void caught(int number) { siglongjmp(fault, number); }

static uint64_t seed;
static uint64_t random_word(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 2685821657736338717u;
}
static unsigned below(unsigned n) { return (random_word() >> 33) % n; }

// Values among which results differ: an exponent near 1 makes the low bytes of a float count, small numbers are
// counts and indexes, equal operands make comparisons close.
enum { RANDOM, F16, F32, F64, SMALL, COUNT, SPARSE, SPECIAL, ZERO, ONES, EDGES, KINDS };
static void fill(uint8_t *to, int size, int kind) {
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, 0x20, 0x40};
    int element = 2 << below(3);
    for (int i = 0; i < size; i += 8) {
        uint64_t w = random_word(), narrow = random_word();
        switch (kind) {
        case F64: w = (w & 0x800fffffffffffff) | (uint64_t)(below(2) ? 1016 + below(24) : 1020 + below(66)) << 52; break;
        case F32:
            w = (w & 0x807fffff807fffff) | (uint64_t)(122 + below(16)) << 55 | (uint64_t)(122 + below(16)) << 23;
            break;
        case F16: w = (w & 0x83ff83ff83ff83ff) | (0x3800380038003800 + (0x0400ull << 16 * below(4))); break;
        case SMALL:
            for (int j = 0; j < 8; j++)
                w = j % element ? w & ~(0xffull << 8 * j) : (w & ~(0xffull << 8 * j)) | (narrow >> j * 6 & 0x3f) << 8 * j;
            break;
        case COUNT: w = below(70); break;
        case SPARSE: w &= below(2) ? 0xffull << 8 * below(8) : 0x0101010101010101; break;
        case SPECIAL: // Infinities, and numbers that are none for one byte.
            w = element == 8 ? 0x7ff0000000000000 | (uint64_t)below(2) << 63 : 0x7f8000007f800000 | (w & 0x8000000080000000);
            w |= narrow & (below(2) ? 0x000fffff007fffff : 0) & 0xffull << 8 * below(8);
            break;
        case ZERO: w = 0; break;
        case ONES: w = ~0ull; break;
        case EDGES:
            for (int j = 0; j < 8; j++) w = w << 8 | edges[below(sizeof edges)];
            break;
        }
        memcpy(to + i, &w, 8);
    }
}

static uint8_t before[END], after[END], changed[END], needed[END];

// The same values on every processor: registers that it lacks are filled, too.
static void fill_all(void) {
    int kind = below(KINDS), mixed = below(2), equal = below(3) == 0;
    for (int n = 0; n < 16; n++) fill(before + 8 * n, 8, mixed ? below(KINDS) : below(2) ? RANDOM : kind);
    for (int n = 0; n < VECTOR_COUNT; n++) fill(before + VECTORS + 64 * n, 64, mixed ? below(KINDS) : kind);
    for (int n = 0; n < 8; n++) fill(before + MASKS + 8 * n, 8, below(3) ? RANDOM : below(KINDS));
    for (int n = 0; mixed && n < VECTOR_COUNT; n++)
        if (below(3) == 0) fill(before + VECTORS + 64 * n, 64, COUNT);
    if (equal)
        for (int n = 1; n < VECTOR_COUNT; n++) memcpy(before + VECTORS + 64 * n, before + VECTORS, 64);
    if (below(3) == 0)
        for (int n = 1; n < 16; n++) memcpy(before + 8 * n, before, 8);
    if (below(8) == 0) // A number of a few digits divided by one: without a fault.
        memset(before + 16, 0, 8);
    uint64_t flags = (random_word() & 0x8d5) | 0x202;
    memcpy(before + FLAGS, &flags, 8);
}

// Runs on what `from` has; false if it faults.
static int step(const uint8_t *from, uint8_t *to) {
    memcpy(regs, from, END);
    int number = sigsetjmp(fault, 0);
    if (number == 0) run();
    if (number) return 0;
    memcpy(to, regs, END);
    memcpy(to + RSP, from + RSP, 8);
    return 1;
}

static uint64_t flags_of(const uint8_t *state) {
    uint64_t flags;
    memcpy(&flags, state + FLAGS, 8);
    return flags;
}

// Whether a byte that the instruction changes, or a flag that it defines, differs.
static int differs(const uint8_t *other, uint64_t defined) {
    for (int i = 0; i < END; i += 8) {
        if (i == FLAGS || !memcmp(other + i, after + i, 8)) continue;
        for (int j = i; j < i + 8; j++)
            if (other[j] != after[j] && changed[j]) return 1;
    }
    return ((flags_of(other) ^ flags_of(after)) & defined) != 0;
}

static void ranges(const char *name, const uint8_t *set) {
    printf("%s", name);
    for (int i = 0; i < END; i++) {
        int from = i;
        while (i < END && set[i]) i++;
        if (i > from) printf(" %d+%d", from, i - from);
    }
    putchar(' ');
}

static const unsigned tested[] = {0x1, 0x4, 0x10, 0x40, 0x80, 0x800};

static void measure(uint64_t defined, const int *bytes, int count, int trials) {
    static uint8_t other[END], changes[END];
    int ran = 0, reads_flags = 0, reads_rest = 0;
    // The same values for every instruction, whatever was measured before.
    seed = 88172645463325252u;
    memset(changed, 0, END);
    memset(needed, 0, END);
    for (int t = 0; t < 300; t++) {
        fill_all();
        if (!step(before, after)) {
            if (t == 7 && !ran) break;
            continue;
        }
        ran++;
        for (int i = 0; i < END; i++) changed[i] |= before[i] != after[i];
    }
    if (!ran) {
        puts("fault");
        return;
    }
    memset(changed + FLAGS, 0, 8);
    for (int t = 0; t < trials; t++) {
        fill_all();
        if (!step(before, after)) continue;
        memcpy(changes, before, END);
        for (int n = 0; n < count; n++) {
            int b = bytes[n];
            if (needed[b]) continue;
            switch (below(4)) {
            case 0: changes[b] ^= 1 << below(8); break;
            case 1: changes[b] ^= 0x80; break;
            case 2: changes[b] ^= 1; break;
            default: changes[b] ^= 1 + below(255);
            }
            if (step(changes, other)) needed[b] = differs(other, defined);
            changes[b] = before[b];
        }
        // Flags, and all the bytes that are said not to matter.
        uint64_t flags = flags_of(before) ^ (below(2) ? 0x8d5 : tested[below(6)]);
        memcpy(changes + FLAGS, &flags, 8);
        if (!reads_flags && step(changes, other)) reads_flags = differs(other, 0);
        memcpy(changes + FLAGS, before + FLAGS, 8);
        uint8_t keep[END];
        memcpy(keep, changes, END);
        for (int i = 0; i < END; i++)
            if (i < FLAGS - 8 || i >= MASKS) changes[i] ^= random_word() >> 20;
        for (int n = 0; n < count; n++) changes[bytes[n]] = keep[bytes[n]];
        memcpy(changes + RSP, keep + RSP, 8);
        if (!reads_rest && step(changes, other)) reads_rest = differs(other, defined);
    }
    ranges("reads", needed);
    ranges("writes", changed);
    printf("%s%s\n", reads_flags ? "flags " : "", reads_rest ? "others" : "");
}

int main(int argc, char **argv) {
    int trials = argc > 1 ? atoi(argv[1]) : 120;
    if (__builtin_cpu_supports("avx512bw")) {
        run = run_avx512, back = back_avx512, vector_bytes = 64;
    } else if (__builtin_cpu_supports("avx2")) {
        run = run_avx, back = back_avx, vector_bytes = 32;
    } else {
        run = run_sse, back = back_sse, vector_bytes = 16;
    }
    if (argc > 1 && !strcmp(argv[1], "width")) {
        printf("%d\n", vector_bytes);
        return 0;
    }
    uint8_t *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    entry = code;
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, 0);
    int signals[] = {SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP};
    for (int n = 0; n < 5; n++) {
        struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER | SA_ONSTACK};
        sigaction(signals[n], &action, 0);
    }
    static char line[1 << 16];
    static int bytes[END];
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        uint8_t *end = code;
        for (unsigned byte; *at != ' ' && sscanf(at, "%2x", &byte) == 1; at += 2) *end++ = byte;
        // jmp *0(%rip)
        memcpy(end, "\xff\x25\0\0\0\0", 6);
        memcpy(end + 6, &back, 8);
        uint64_t defined = strtoull(at, &at, 16);
        int count = 0;
        for (int from, size, used; sscanf(at, " %d+%d%n", &from, &size, &used) == 2; at += used)
            for (int i = from; i < from + size && i < END; i++) bytes[count++] = i;
        measure(defined, bytes, count, trials);
    }
    return 0;
}
