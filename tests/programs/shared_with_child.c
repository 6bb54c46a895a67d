/* Memory that a child writes to, which is not recorded. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status;
    volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fork() == 0) {
        shared[0] = 7;
        _exit(0);
    }
    wait(&status);
    return shared[0] - 7;
}
