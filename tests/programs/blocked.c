/* Threads that wait in system calls while others make some: each call has its own result and bytes. The
 * program counts what it was given. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define N 8
static int in_pipe[2], in_socket[2], in_poll[2], in_epoll[2], file;
static unsigned char piped[N], received[N], polled[N], waited[N], of_file[4][N * 100];
static volatile int sum;

#define READER(name) \
    __attribute__((noinline)) static void name(const unsigned char *p, int n) \
    { \
        for (int i = 0; i < n; i++) sum += p[i]; \
    }
READER(use_piped)
READER(use_received)
READER(use_polled)
READER(use_waited)
READER(use_file)

static void *by_pipe(void *none)
{
    if (read(in_pipe[0], piped, N) == N) use_piped(piped, N);
    return none;
}

static void *by_socket(void *none)
{
    if (recv(in_socket[0], received, N, 0) == N) use_received(received, N);
    return none;
}

static void *by_poll(void *none)
{
    struct pollfd of = { in_poll[0], POLLIN, 0 };
    if (poll(&of, 1, -1) == 1 && read(in_poll[0], polled, N) == N) use_polled(polled, N);
    return none;
}

static void *by_epoll(void *none)
{
    int set = epoll_create1(0);
    struct epoll_event of = { .events = EPOLLIN }, got;
    epoll_ctl(set, EPOLL_CTL_ADD, in_epoll[0], &of);
    if (epoll_wait(set, &got, 1, -1) == 1 && read(in_epoll[0], waited, N) == N) use_waited(waited, N);
    return none;
}

static void *by_file(void *of)
{
    unsigned char *to = of;
    for (int i = 0; i < 100; i++)
        if (pread(file, to + N * i, N, N * i) != N) return NULL;
    use_file(to, N * 100);
    return NULL;
}

static void sleep_a_little(void)
{
    struct timespec time = { 0, 30000000 };
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    pthread_t thread[8];
    FILE *text = fopen(argv[1], "r");
    if (!text || pipe(in_pipe) || pipe(in_poll) || pipe(in_epoll)) return 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, in_socket)) return 2;
    file = fileno(text);
    void *(*waits[])(void *) = { by_pipe, by_socket, by_poll, by_epoll };
    for (int i = 0; i < 4; i++) pthread_create(thread + i, NULL, waits[i], NULL);
    for (int i = 0; i < 4; i++) pthread_create(thread + 4 + i, NULL, by_file, of_file[i]);
    int to[] = { in_pipe[1], in_socket[1], in_poll[1], in_epoll[1] };
    for (int i = 0; i < 4; i++) {
        sleep_a_little();
        if (write(to[i], "12345678", N) != N) return 2;
        sleep_a_little();
    }
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
    return sum != 0 ? 0 : 1;
}
