/* A child in a folder of its own, from where other files have no names. */

#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status;
    pid_t child;
    if (chroot("/proc/self")) return 100;
    child = fork();
    if (!child) _exit(0);
    waitpid(child, &status, 0);
    return 0;
}
