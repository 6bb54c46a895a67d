/* Has frame information that valgrind does not understand; closes all descriptors that it does not need, and says which number a file
   has then. With an argument a child becomes the program once more, without one, first; with two it ends by a signal. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void odd(void)
{
    /* DW_CFA_val_expression of rbx with DW_OP_xderef. */
    __asm__ volatile(".cfi_escape 0x16, 3, 3, 0x70, 0, 0x18");
}

int main(int arguments, char **argument)
{
    odd();
    for (int fd = 3; fd < 70000; fd++) close(fd);
    if (arguments > 1) {
        pid_t child = fork();
        if (child == 0) {
            execl(argument[0], argument[0], (char *)0);
            _exit(9);
        }
        waitpid(child, 0, 0);
    }
    dprintf(2, "own %d\n", open("/dev/null", O_WRONLY));
    if (arguments > 2) *(volatile int *)0 = 1;
    return 0;
}
