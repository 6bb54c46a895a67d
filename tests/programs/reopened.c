/* reopened.c SEED HOW: descriptors are open on one file after the other, on pipes and sockets, and are read and
 * written with many calls, at random. Letters of HOW: t, a second thread does so, too; a, a timer's handler opens others
 * in between; f, a child does so, too. Files are made where it runs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sum;
static __thread unsigned random_number;

static unsigned below(unsigned n)
{
    random_number = random_number * 1103515245u + 12345u;
    return (random_number >> 16) % n;
}

__attribute__((noinline)) static void use(const void *bytes, long n)
{
    for (long i = 0; i < n; i++) sum += ((const char *)bytes)[i];
}

__attribute__((noinline)) static void fill(char *bytes, long n)
{
    for (long i = 0; i < n; i++) bytes[i] = i * 7;
}

/* Something is read from one end of what is written to the other. */
static void through(int ends[2], int from)
{
    char to[9], of[9];
    fill(to, sizeof to);
    use(of, write(ends[!from], to, sizeof to) > 0 ? read(ends[from], of, sizeof of) : 0);
}

/* The same by messages, of which the kernel reads and writes more than the data. */
static void by_messages(int ends[2])
{
    char to[9], of[9];
    struct sockaddr_storage from;
    struct iovec sent = { to, sizeof to }, got = { of, sizeof of };
    struct msghdr message = { .msg_iov = &sent, .msg_iovlen = 1 };
    struct msghdr answer = { .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &got, .msg_iovlen = 1 };
    fill(to, sizeof to);
    if (sendmsg(ends[0], &message, 0) < 0 || recvmsg(ends[1], &answer, 0) < 0) return;
    use(of, sizeof of);
    use(&answer, sizeof answer);
}

static void step(void)
{
    char bytes[64], more[8], name[16];
    struct iovec parts[2] = { { bytes, 16 }, { more, sizeof more } };
    struct stat state;
    /* Above those that a new one gets, of which each thread has its own. */
    int descriptor = 100 + below(4), ends[2], file;
    switch (below(12)) {
    case 0:
    case 1:
        snprintf(name, sizeof name, "f%u", below(5));
        file = open(name, O_RDWR | O_CREAT, 0600);
        if (file < 0) break;
        dup2(file, descriptor);
        if (file != descriptor) close(file);
        break;
    case 2: close(descriptor); break;
    case 3: use(bytes, read(descriptor, bytes, 1 + below(sizeof bytes))); break;
    case 4:
        fill(bytes, sizeof bytes);
        use(bytes, write(descriptor, bytes, 1 + below(40)));
        break;
    case 5: use(bytes, pread(descriptor, bytes, 32, below(9))); break;
    case 6: use(bytes, readv(descriptor, parts, 2) > 0 ? 16 : 0); break;
    case 7:
        fill(bytes, 16);
        fill(more, sizeof more);
        use(bytes, writev(descriptor, parts, 2) > 0 ? 16 : 0);
        break;
    case 8: use(&state, fstat(descriptor, &state) ? 0 : sizeof state); break;
    case 9: lseek(dup2(100 + below(4), descriptor), below(10), SEEK_SET); break;
    case 10:
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) break;
        through(ends, 1);
        by_messages(ends);
        dup2(ends[0], descriptor);
        if (ends[0] != descriptor) close(ends[0]);
        if (ends[1] != descriptor) close(ends[1]);
        break;
    case 11:
        if (pipe2(ends, O_NONBLOCK)) break;
        through(ends, 0);
        close(ends[0]);
        close(ends[1]);
        break;
    }
}

static void *steps(void *seed)
{
    random_number = (long)seed;
    for (int i = 0; i < 300; i++) step();
    return NULL;
}

static void on_alarm(int number)
{
    char bytes[8];
    int file = open("f0", O_RDONLY);
    if (file < 0) return;
    use(bytes, read(file, bytes, sizeof bytes));
    close(file);
}

int main(int n, char **of)
{
    long seed = n > 2 ? atol(of[1]) : 1;
    const char *how = n > 2 ? of[2] : "";
    pthread_t thread;
    pid_t child = -1;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 5; i++) {
        char name[] = { 'f', '0' + i, 0 }, bytes[50];
        int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        memset(bytes, 'a' + i, sizeof bytes);
        if (write(file, bytes, sizeof bytes) < 0) return 1;
        close(file);
    }
    if (strchr(how, 'a')) {
        struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    if (strchr(how, 't')) pthread_create(&thread, NULL, steps, (void *)(seed * 7 + 1));
    if (strchr(how, 'f') && !(child = fork())) seed *= 3;
    steps((void *)seed);
    if (child > 0) waitpid(child, NULL, 0);
    if (strchr(how, 't')) pthread_join(thread, NULL);
    return 0;
}
