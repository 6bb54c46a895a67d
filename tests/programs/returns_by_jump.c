/* Functions that return by a jump to what is in any register: hand-written code, and what compilers make for processors
 * whose `pop` cannot change the instruction set (-march=armv4t -mthumb -mthumb-interwork). */
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

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += twice(i);
    return sum & 1;
}
