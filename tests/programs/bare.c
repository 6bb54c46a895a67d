/*
 * Without a C library, on x86 (of 32 bits, too), ARM, AArch64 and RISC-V: a filter whose traffic through memory is the same on each.
 * gcc -g -O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector -fno-asynchronous-unwind-tables; exit code 40, the
 * exclusive or of the outputs 8 24 24 8 4 16 28 32.
 */
#define TAPS 4
#define SAMPLES 8

#define NOINLINE __attribute__((noinline, noclone))

static const int taps[TAPS] = { 1, 3, 3, 1 };
static const int input[SAMPLES] = { 8, 0, 0, 0, 4, 4, 4, 4 };
static int delay[TAPS];
static int output[SAMPLES];

/* The next sample, from the input to a register. */
NOINLINE static int read_sample(int n)
{
    return input[n];
}

/* Moves the delay line by one: each entry is read and written once. */
NOINLINE static void shift(int sample)
{
    for (int i = TAPS - 1; i > 0; i--)
        delay[i] = delay[i - 1];
    delay[0] = sample;
}

NOINLINE static int multiply(int a, int b)
{
    return a * b;
}

NOINLINE static int accumulate(int sum, int product)
{
    return sum + product;
}

/* One output sample. */
NOINLINE static int fir(void)
{
    int sum = 0;
    for (int i = 0; i < TAPS; i++)
        sum = accumulate(sum, multiply(taps[i], delay[i]));
    return sum;
}

NOINLINE static void write_sample(int n, int sample)
{
    output[n] = sample;
}

NOINLINE static int checksum(void)
{
    int sum = 0;
    for (int n = 0; n < SAMPLES; n++)
        sum ^= output[n];
    return sum;
}

NOINLINE int main(void)
{
    for (int n = 0; n < SAMPLES; n++) {
        shift(read_sample(n));
        write_sample(n, fir());
    }
    return checksum();
}

/* The entry point: main, then the system call exit(main()). */
#if defined __x86_64__
#define CALL_MAIN "xor %ebp, %ebp; call main; mov %eax, %edi; mov $60, %eax; syscall"
#elif defined __i386__
#define CALL_MAIN "xor %ebp, %ebp; call main; mov %eax, %ebx; mov $1, %eax; int $0x80"
#elif defined __aarch64__
#define CALL_MAIN "bl main; mov x8, #93; svc #0"
#elif defined __arm__
#define CALL_MAIN "bl main; mov r7, #1; svc #0"
#elif defined __riscv
#define CALL_MAIN "call main; li a7, 93; ecall"
#endif
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n" CALL_MAIN "\n"
        ".size _start, . - _start\n");
