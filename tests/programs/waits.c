/* Does something, marks it, and waits in one of several ways; what it did is to be in the recording by then: waits NUMBER.
 * With 98 a child sleeps for a minute, and it ends. With 99 it does not wait, and writes more than a buffer has; it ends with the number of its signals that it did not ask for. */
#define _GNU_SOURCE
#include "../../recorders/stream/addfg_mark.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int sum;

static void work(int times)
{
    for (int i = 0; i < times; i++) sum += i;
}

int main(int count, char **words)
{
    int which = count > 1 ? atoi(words[1]) : 0;
    struct timespec long_time = { 100, 0 };
    sigset_t none;
    sigemptyset(&none);
    if (which == 99) {
        work(3000000);
        sigset_t pending;
        sigpending(&pending);
        return sigismember(&pending, SIGPIPE);
    }
    if (which == 98) {
        if (!fork()) nanosleep(&(struct timespec){ 60, 0 }, 0);
        return 0;
    }
    int process = which >= 8 ? fork() : 1;
    if (!process) {
        pause();
        return 0;
    }
    work(2000);
    ADDFG_MARK(77);
    write(1, "x", 1);
    switch (which) {
    case 0: pause();
    case 1: poll(0, 0, 100000);
    case 2: nanosleep(&long_time, 0);
    case 3: clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, 0);
    case 4: select(0, 0, 0, 0, &(struct timeval){ 100, 0 });
    case 5: { struct epoll_event event; epoll_wait(epoll_create1(0), &event, 1, 100000); }
    case 6: sigsuspend(&none);
    case 7: { fd_set set; FD_ZERO(&set); pselect(0, &set, 0, 0, &long_time, 0); }
    case 8: wait4(process, 0, 0, 0);
    case 9: { siginfo_t info; waitid(P_ALL, 0, &info, WEXITED); }
    }
    return 0;
}
