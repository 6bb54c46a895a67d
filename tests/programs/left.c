/* Reads from numbers that no file has, and ends while two threads wait: what is told of that. Prints their numbers. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int waiting;
static int ends[2];

static void *waits(void *what)
{
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    if (what) pause();
    else read(ends[0], ends, 1);
    return 0;
}

int main(void)
{
    char byte;
    pthread_t thread;
    /* Whoever runs it may leave it some. */
    for (int fd = 3; fd < 8; fd++) close(fd);
    for (int fd = 3; fd < 8; fd++)
        if (read(fd, &byte, 1) != -1) return 1;
    if (pipe(ends) || pthread_create(&thread, 0, waits, 0) || pthread_create(&thread, 0, waits, &byte)) return 1;
    while (waiting < 2) usleep(1000);
    usleep(20000);
    syscall(SYS_exit_group, 0);
}
