/* The paper's four-tap FIR filter (figure 1), without a C library so that every edge of its graph can be followed by hand. */

#define NOINLINE __attribute__((noinline, noclone))
#define TAPS 4
#define SAMPLES 8

static const int coefficient[TAPS] = {1, 3, 3, 1};
static int input[SAMPLES];
static int output[SAMPLES];

NOINLINE static void produce(void) {
    for (int i = 0; i < SAMPLES; i++)
        input[i] = i * i - 5;
}

NOINLINE static int multiply(int a, int b) { return a * b; }

NOINLINE static int fir(const int *newest) {
    int sum = 0;
    for (int tap = 0; tap < TAPS; tap++)
        sum += multiply(newest[-tap], coefficient[tap]);
    return sum;
}

NOINLINE static void filter(void) {
    for (int i = TAPS - 1; i < SAMPLES; i++)
        output[i] = fir(&input[i]);
}

NOINLINE static int checksum(void) {
    int sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += output[i];
    return sum & 127;
}

NOINLINE int main(void) {
    produce();
    filter();
    return checksum();
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__("xor %ebp, %ebp\n\t"
            "call main\n\t"
            "mov %eax, %edi\n\t"
            "mov $60, %eax\n\t"
            "syscall");
}
