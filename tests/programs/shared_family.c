/* Memory that a process shares with its children: who writes it first, and each of them. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noinline)) static void parent_writes(volatile char *p)
{
    for (int i = 0; i < 100; i++) p[i] = 1;
}

__attribute__((noinline)) static void child_writes(volatile char *p)
{
    for (int i = 50; i < 150; i++) p[i] = 2;
}

__attribute__((noinline)) static void child_reads(volatile char *p)
{
    for (int i = 0; i < 100; i++) sum += p[i];
}

__attribute__((noinline)) static void parent_reads(volatile char *p)
{
    for (int i = 0; i < 200; i++) sum += p[i];
}

int main(void)
{
    char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    parent_writes(p);
    for (int k = 0; k < 3; k++) {
        if (!fork()) {
            child_reads(p);
            child_writes(p);
            child_reads(p);
            _exit(0);
        }
        wait(0);
        parent_reads(p);
    }
    return 0;
}
