/* Functions that return by a jump to what is in any register: hand-written code, and what compilers make for processors
 * whose `pop` cannot change the instruction set (-march=armv4t -mthumb -mthumb-interwork). A function that is called by a
 * jump: processors without a call by a register (-march=armv4). A switch, whose place is found by a function that returns
 * there: processors without a jump by a table (-mthumb before version 7, Cortex-M0). */
int back(int x);
#if defined __aarch64__
__asm__(".globl back\n.type back, %function\nback: mov x9, x30\nbr x9\n.size back, . - back\n");
#elif defined __riscv
__asm__(".globl back\n.type back, @function\nback: mv t2, ra\njr t2\n.size back, . - back\n");
#elif defined __thumb__
__asm__(".thumb_func\n.globl back\n.type back, %function\nback: mov r3, lr\nbx r3\n.size back, . - back\n");
#else
__asm__(".globl back\n.type back, %function\nback: mov r3, lr\nbx r3\n.size back, . - back\n");
#endif

__attribute__((noinline)) static int twice(int x)
{
    int first = back(x);
    return first + back(x + 1);
}

__attribute__((noinline)) static int chosen(int x)
{
    switch (x & 7) {
    case 0: x += twice(3); break;
    case 1: x ^= 5; break;
    case 2: x *= 7; break;
    case 3: x -= back(x); break;
    case 4: x <<= 1; break;
    case 5: x = ~x; break;
    default: x = -x; break;
    }
    return x + 1;
}

#if defined __thumb__ && __ARM_ARCH < 5
/* Compilers put the jump into the function that calls, which then calls itself. */
#define by_pointer chosen
#else
static int (*volatile by_pointer)(int) = chosen;
#endif

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += twice(i) + by_pointer(i);
    return sum & 1;
}
