/* What system calls move: less than they are asked for, nothing where they fail, through structures; and
 * descriptors whose numbers were those of other files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

static char bytes[8192], got[8192];
static volatile int sum;

__attribute__((noinline)) static void fill(void)
{
    for (int i = 0; i < 8192; i++) ((volatile char *)bytes)[i] = i;
}

__attribute__((noinline)) static void use(int n)
{
    for (int i = 0; i < n; i++) sum += ((volatile char *)got)[i];
}

/* Numbers that files had before. */
static void numbers(const char *text)
{
    int file = open(text, O_RDONLY);
    if (read(file, got, 3) != 3) exit(2);
    close(file);
    int memory = memfd_create("mem", 0);
    if (memory != file || write(memory, bytes, 10) != 10) exit(3);
    close(memory);
    int event = eventfd(0, 0);
    if (write(event, bytes + 8, 8) != 8) exit(4);
    close(event);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = { { 0, 0 }, { 0, 1000 } };
    timerfd_settime(timer, 0, &soon, NULL);
    if (read(timer, got, 8) != 8) exit(5);
    close(timer);
    file = open(text, O_RDONLY);
    int copy = fcntl(file, F_DUPFD, 20);
    close(file);
    if (read(copy, got, 2) != 2) exit(6);
    close_range(copy, copy, 0);
}

static void amounts(const char *to)
{
    int end[2];
    if (pipe2(end, O_NONBLOCK)) exit(7);
    fcntl(end[1], F_SETPIPE_SZ, 4096);
    if (write(end[1], bytes, 5000) != 4096) exit(8);
    if (write(end[1], bytes, 500) != -1 || errno != EAGAIN) exit(9);
    if (write(99, bytes, 100) != -1) exit(10);
    struct iovec two[2] = { { bytes, 8 }, { bytes + 100, 8 } }, into[2] = { { got, 3 }, { got + 100, 50 } };
    int file = open(to, O_CREAT | O_TRUNC | O_RDWR, 0644);
    if (writev(file, two, 2) != 16 || pwritev(file, two, 2, 100) != 16) exit(11);
    dup3(file, 40, 0);
    if (write(40, bytes, 7) != 7) exit(12);
    if (preadv(file, into, 2, 0) != 53) exit(13);
    if (getrandom(got, 33, 0) != 33) exit(14);
    if (sendfile(end[1], file, NULL, 1) != -1) exit(15);
}

static void sockets(void)
{
    int end[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, end)) exit(16);
    struct iovec one = { bytes, 1 }, into = { got, 64 }, two = { got + 64, 64 };
    struct msghdr message = { .msg_iov = &one, .msg_iovlen = 1 };
    if (sendmsg(end[0], &message, 0) != 1) exit(17);
    message.msg_iov = &into;
    if (recvmsg(end[1], &message, 0) != 1) exit(18);
    struct iovec parts[2] = { { bytes, 5 }, { bytes + 9, 6 } };
    struct mmsghdr many[2] = { { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 2 } }, { .msg_hdr = { .msg_iov = &one, .msg_iovlen = 1 } } };
    if (sendmmsg(end[0], many, 2, 0) != 2) exit(19);
    many[0].msg_hdr.msg_iov = &into;
    many[0].msg_hdr.msg_iovlen = 1;
    many[1].msg_hdr.msg_iov = &two;
    if (recvmmsg(end[1], many, 2, 0, NULL) != 2) exit(20);
    if (send(end[0], bytes, 10, 0) != 10 || recv(end[1], got, 200, 0) != 10) exit(21);
    use(200);
}

int main(int argc, char **argv)
{
    fill();
    numbers(argv[1]);
    amounts(argv[2]);
    sockets();
    return 0;
}
