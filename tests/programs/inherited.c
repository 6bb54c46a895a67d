/* A child that reads what its parent wrote before and what it did not, and what it writes itself. */
#include <sys/wait.h>
#include <unistd.h>

static char data[300];
static volatile int sum;

__attribute__((noinline)) static void fill(char *p, int n)
{
    for (int i = 0; i < n; i++) ((volatile char *)p)[i] = i;
}

__attribute__((noinline)) static void fill_late(char *p, int n) { fill(p, n); }

__attribute__((noinline)) static void in_child(const char *p, int n)
{
    for (int i = 0; i < n; i++) sum += ((const volatile char *)p)[i];
}

int main(void)
{
    int status;
    fill(data, 200);
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        if (child == 0) {
            in_child(data, 300);
            _exit(0);
        }
        waitpid(child, &status, 0);
        /* The second child has these, too. */
        fill_late(data + 200, 50);
    }
    return 0;
}
