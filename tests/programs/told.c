/* Says each event that a recorder has to tell of what it does, in order, and in the words of
 * recorders/stream/dump.py: what system calls read and wrote, memory that comes, goes and is taken back, allocations.
 * gcc -O1 -g -static; told [children] FOLDER: makes files there; FOLDER/expected has what it says. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long Word;

static char text[1 << 18];
static char *end = text;

/* The library's printf has more steps than all else here. */
static void put_number(Word number)
{
    int digits = 1;
    while (digits < 16 && number >> 4 * digits) digits++;
    *end++ = ' ', *end++ = '0', *end++ = 'x';
    while (digits--) *end++ = "0123456789abcdef"[number >> 4 * digits & 15];
}

static void sayn(const char *what, int n, const Word *numbers)
{
    while (*what) *end++ = *what++;
    for (int i = 0; i < n; i++) put_number(numbers[i]);
    *end++ = '\n';
}

static void say(const char *what, int n, ...)
{
    Word list[10];
    va_list numbers;
    va_start(numbers, n);
    for (int i = 0; i < n; i++) list[i] = va_arg(numbers, Word);
    va_end(numbers);
    sayn(what, n, list);
}

#define W(address, bytes) say("kernel_write", 3, (Word)(address), (Word)(bytes), 0UL)
#define R(address, bytes) say("kernel_read", 3, (Word)(address), (Word)(bytes), 0UL)
/* A structure of the call, and not its data. */
#define S(address, bytes) say("kernel_write", 3, (Word)(address), (Word)(bytes), 1UL)
#define SAY(what, ...) do { Word n_[] = { __VA_ARGS__ }; char w_[] = what; sayn(w_, sizeof n_ / sizeof *n_, n_); } while (0)

static long raw(Word n, Word a, Word b, Word c, Word d, Word e, Word f)
{
    register Word r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

/* The call that is being told of: what it gives is told behind what it moved. */
static long gave;

static long call(Word n, Word a, Word b, Word c, Word d, Word e, Word f)
{
    say("syscall", 10, n, 8UL, a, b, c, d, e, f, 0UL, 0UL);
    return gave = raw(n, a, b, c, d, e, f);
}

static void over(void)
{
    int failed = gave < 0 && gave > -4096;
    say("syscall_end", 2, (Word)failed, failed ? (Word)-gave : (Word)gave);
}

#define C(n, a, b, c, d, e, f) call(SYS_##n, (Word)(a), (Word)(b), (Word)(c), (Word)(d), (Word)(e), (Word)(f))
/* Where the part that is compared begins and ends: calls that fail. */
static void border(void) { raw(SYS_umask, 0x7777, 0x1234, 0, 0, 0, 0); }

static char one[4096] = "0123456789abcdefghij", two[4096], three[4096];
static char path[4200];

static const char *in(const char *folder, const char *name)
{
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static int must(long fd)
{
    if (fd >= 0) return fd;
    fprintf(stderr, "told: %s\n", strerror(-fd));
    exit(9);
}

/* ---- calls that move bytes ---- */

static void buffers(int file, int pipe_in, int pipe_out)
{
    C(write, file, one, 20, 0, 0, 0); R(one, 20); over();
    /* Fails: nothing was read. */
    C(write, -1, one, 20, 0, 0, 0); over();
    C(pwrite64, file, one + 5, 7, 3, 0, 0); R(one + 5, 7); over();
    C(lseek, file, 0, SEEK_SET, 0, 0, 0); over();
    C(read, file, two, 12, 0, 0, 0); W(two, 12); over();
    /* Less than was asked for, then nothing. */
    C(read, file, two + 1, 100, 0, 0, 0); W(two + 1, 8); over();
    C(read, file, two, 100, 0, 0, 0); over();
    C(read, file, two, 0, 0, 0, 0); over();
    C(pread64, file, two, 5, 15, 0, 0); W(two, 5); over();
    struct iovec parts[4] = { { two, 3 }, { three, 0 }, { three + 1, 4 }, { three + 100, 50 } };
    C(lseek, file, 0, SEEK_SET, 0, 0, 0); over();
    C(readv, file, parts, 4, 0, 0, 0); W(two, 3); W(three + 1, 4); W(three + 100, 13); over();
    /* The last part gets nothing. */
    C(preadv, file, parts, 4, 15, 0, 0); W(two, 3); W(three + 1, 2); over();
    C(preadv2, file, parts, 1, 1, 0, 0); W(two, 3); over();
    C(writev, file, parts, 3, 0, 0, 0); R(two, 3); R(three + 1, 4); over();
    C(pwritev, file, parts + 2, 2, 1, 0, 0); R(three + 1, 4); R(three + 100, 50); over();
    C(pwritev2, file, parts, 1, 1, 0, 0); R(two, 3); over();
    C(writev, -1, parts, 3, 0, 0, 0); over();
    /* Where nothing is. */
    C(writev, file, 8, 3, 0, 0, 0); over();
    C(readv, file, 8, 3, 0, 0, 0); over();
    C(getrandom, two, 33, 0, 0, 0, 0); W(two, 33); over();
    C(vmsplice, pipe_out, parts, 3, 0, 0, 0); R(two, 3); R(three + 1, 4); over();
    C(read, pipe_in, one, 20, 0, 0, 0); W(one, 7); over();
    C(write, pipe_out, one, 9, 0, 0, 0); R(one, 9); over();
    struct iovec into = { two + 200, 9 };
    C(vmsplice, pipe_in, &into, 1, 0, 0, 0); W(two + 200, 9); over();
    struct iovec here = { two, 10 }, there = { three, 10 };
    C(process_vm_readv, getpid(), &here, 1, &there, 1, 0); R(three, 10); W(two, 10); over();
    C(process_vm_writev, getpid(), &here, 1, &there, 1, 0); R(two, 10); W(three, 10); over();
}

/* 1024 parts are what the system takes; of the last one there is a byte. */
static void many_parts(int file)
{
    static struct iovec parts[1024];
    for (int i = 0; i < 1024; i++) {
        parts[i].iov_base = one + i;
        parts[i].iov_len = 1;
    }
    C(pwritev, file, parts, 1024, 0, 0, 0);
    for (int i = 0; i < 1024; i++) R(one + i, 1);
    over();
}

static void messages(int a, int b)
{
    struct iovec parts[2] = { { one, 6 }, { one + 100, 5 } }, into[2] = { { two, 4 }, { two + 50, 100 } };
    struct msghdr to = { .msg_iov = parts, .msg_iovlen = 2 }, from = { .msg_iov = into, .msg_iovlen = 2 };
    C(sendmsg, a, &to, 0, 0, 0, 0); R(one, 6); R(one + 100, 5); over();
    C(recvmsg, b, &from, 0, 0, 0, 0);
    say("structures", 0);
    W(two, 4); W(two + 50, 7); over();
    C(sendto, a, one, 13, 0, 0, 0); R(one, 13); over();
    C(recvfrom, b, two, 100, 0, 0, 0); W(two, 13); over();
    C(recvfrom, b, two, 100, MSG_DONTWAIT, 0, 0); over();
    C(sendmsg, a, 8, 0, 0, 0, 0); over();
    C(recvmsg, b, 8, MSG_DONTWAIT, 0, 0, 0); over();
    C(sendmmsg, a, 8, 2, 0, 0, 0); over();
    struct mmsghdr out[3] = { { { .msg_iov = parts, .msg_iovlen = 2 } }, { { .msg_iov = parts + 1, .msg_iovlen = 1 } }, { { .msg_iov = parts, .msg_iovlen = 1 } } };
    C(sendmmsg, a, out, 3, 0, 0, 0);
    say("structures", 0);
    R(one, 6); R(one + 100, 5); R(one + 100, 5); R(one, 6); over();
    /* Three come, of 11, 5 and 6 bytes: for four there is room. The second fills its first buffer only. */
    struct iovec first[2] = { { two, 4 }, { two + 50, 100 } }, second[2] = { { three, 30 }, { three + 50, 100 } }, third = { three + 200, 2 }, fourth = { three + 300, 2 };
    struct mmsghdr got[4] = { { { .msg_iov = first, .msg_iovlen = 2 } }, { { .msg_iov = second, .msg_iovlen = 2 } },
                              { { .msg_iov = &third, .msg_iovlen = 1 } }, { { .msg_iov = &fourth, .msg_iovlen = 1 } } };
    got[3].msg_len = 2;
    C(recvmmsg, b, got, 4, MSG_DONTWAIT, 0, 0);
    say("structures", 0);
    W(two, 4); W(two + 50, 7); W(three, 5); W(three + 200, 2); over();
}

/* ---- calls of which the core knows what they read and write ---- */

static void others(const char *folder, int file, int pipe_in)
{
    struct stat status;
    struct utsname names;
    struct timespec time = { 0, 1 };
    int number, two_numbers[2];
    C(fstat, file, &status, 0, 0, 0, 0); W(&status, sizeof status); over();
    C(uname, &names, 0, 0, 0, 0, 0); W(&names, sizeof names); over();
    C(clock_gettime, 0, &time, 0, 0, 0, 0); W(&time, 16); over();
    time.tv_sec = 0, time.tv_nsec = 1;
    C(nanosleep, &time, 0, 0, 0, 0, 0); R(&time, 16); over();
    /* Text is told also where the call fails; the rest of what it asks for is not. */
    in(folder, "none");
    C(access, path, 0, 0, 0, 0, 0); R(path, strlen(path) + 1); over();
    C(stat, path, &status, 0, 0, 0, 0); R(path, strlen(path) + 1); over();
    C(ioctl, pipe_in, FIONREAD, &number, 0, 0, 0); W(&number, 4); over();
    C(ioctl, -1, FIONREAD, &number, 0, 0, 0); over();
    sigset_t set, old;
    sigemptyset(&set);
    C(rt_sigprocmask, SIG_BLOCK, &set, &old, 8, 0, 0); R(&set, 8); W(&old, 8); over();
    C(getcwd, two, 4096, 0, 0, 0, 0); W(two, gave); over();
    C(rt_sigprocmask, 99, &set, 0, 8, 0, 0); over();
    int events = must(epoll_create1(0));
    struct epoll_event event = { EPOLLOUT, { .u64 = 7 } };
    two_numbers[0] = two_numbers[1] = 0;
    C(epoll_ctl, events, EPOLL_CTL_ADD, 1, &event, 0, 0); say("maybe", 0); over();
    int folder_fd = must(open(folder, O_RDONLY | O_DIRECTORY));
    C(getdents64, folder_fd, one, 4096, 0, 0, 0);
    /* Each entry up to the end of its name. */
    for (long at = 0; at < gave; at += ((struct dirent64 *)(one + at))->d_reclen)
        W(one + at, offsetof(struct dirent64, d_name) + strlen(((struct dirent64 *)(one + at))->d_name) + 1);
    over();
    C(getdents64, folder_fd, one, 4096, 0, 0, 0); over();
    close(folder_fd);
    close(events);
    /* Programs that do not run; of a long name there is a part. */
    char *none[] = { 0 };
    in(folder, "none");
    C(execve, path, none, none, 0, 0, 0); end += sprintf(end, "exec  %s\n", path); say("maybe", 0); over();
    static char name[5000];
    memset(name, 'x', sizeof name - 1);
    C(execve, name, none, none, 0, 0, 0); end += sprintf(end, "exec  %.4096s\n", name); say("maybe", 0); over();
}

/* ---- structures that end where memory ends, and such that do not fit ---- */

/* So many bytes before the end of memory. */
static char *before_end(Word bytes)
{
    char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p + 4096, 4096);
    return p + 4096 - bytes;
}

static void edges(int file, int a, int b)
{
    struct iovec *parts = (struct iovec *)before_end(2 * sizeof *parts);
    parts[0] = (struct iovec){ one, 6 }, parts[1] = (struct iovec){ two, 5 };
    C(pwritev, file, parts, 2, 0, 0, 0); R(one, 6); R(two, 5); over();
    C(preadv, file, parts, 2, 0, 0, 0); W(one, 6); W(two, 5); over();
    /* A third one is nowhere. */
    C(pwritev, file, parts, 3, 0, 0, 0); over();
    C(preadv, file, parts + 1, 2, 0, 0, 0); over();
    struct msghdr *to = (struct msghdr *)before_end(sizeof *to);
    *to = (struct msghdr){ .msg_iov = parts, .msg_iovlen = 2 };
    C(sendmsg, a, to, 0, 0, 0, 0); R(one, 6); R(two, 5); over();
    C(recvmsg, b, to, 0, 0, 0, 0); S(&to->msg_controllen, 8); S(&to->msg_flags, 4); W(one, 6); W(two, 5); over();
    C(sendmsg, a, (char *)to + 8, 0, 0, 0, 0); over();
    struct mmsghdr *all = (struct mmsghdr *)before_end(2 * sizeof *all);
    all[0].msg_hdr = all[1].msg_hdr = *to;
    C(sendmmsg, a, all, 2, 0, 0, 0);
    say("structures", 0);
    R(one, 6); R(two, 5); R(one, 6); R(two, 5); over();
    C(recvmmsg, b, all, 2, MSG_DONTWAIT, 0, 0);
    say("structures", 0);
    W(one, 6); W(two, 5); W(one, 6); W(two, 5); over();
    /* Of those that fit the first is sent. */
    C(sendmmsg, a, all + 1, 2, 0, 0, 0);
    say("structures", 0);
    R(one, 6); R(two, 5); over();
    C(recvfrom, b, two, 100, 0, 0, 0); W(two, 11); over();
    /* Names, options, and how long they are. */
    unsigned *length = (unsigned *)before_end(4);
    *length = 100;
    C(getsockname, a, one, length, 0, 0, 0); say("maybe", 0); W(one, 2); W(length, 4); over();
    *length = 8;
    C(getsockopt, a, SOL_SOCKET, SO_TYPE, one, length, 0); say("maybe", 0); W(one, 4); W(length, 4); over();
    C(getsockname, a, one, (char *)length + 1, 0, 0, 0); say("maybe", 0); over();
    /* What is left of a time. */
    struct timeval *time = (struct timeval *)before_end(sizeof *time);
    *time = (struct timeval){ 0, 1 };
    C(select, 0, 0, 0, 0, time, 0); say("maybe", 0); W(time, 16); over();
    *time = (struct timeval){ 0, 0 };
    C(select, 0, 0, 0, 0, time, 0); say("maybe", 0); over();
    struct timespec *left = (struct timespec *)before_end(sizeof *left);
    *left = (struct timespec){ 0, 1 };
    C(ppoll, 0, 0, left, 0, 8, 0); say("maybe", 0); W(left, 16); over();
    /* Words that are waited for: this one is another one already, that one is not where memory is. */
    unsigned *word = (unsigned *)before_end(4);
    *word = 7;
    left->tv_nsec = 1000;
    C(futex, word, 0, 5, left, 0, 0); R(word, 4); R(left, 16); over();
    C(futex, word, 0, 7, left, 0, 0); R(word, 4); R(left, 16); over();
    C(futex, (char *)word + 4, 0, 5, left, 0, 0); over();
    /* Where a file is written to, which is memory. */
    int fd = must(memfd_create("edges", 0)), near = must(memfd_create("near", 0));
    write(near, one, 100);
    ftruncate(fd, 4096);
    struct stat status;
    fstat(fd, &status);
    mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    loff_t *first = (loff_t *)before_end(8), *then = (loff_t *)before_end(8);
    *first = 10, *then = 600;
    C(copy_file_range, near, first, fd, then, 50, 0);
    S(first, 8); S(then, 8); SAY("file_write", status.st_dev, status.st_ino, 600, 50, 0); over();
    /* A name that ends there, one that does not, and one that is longer than what is taken. */
    char *name = before_end(4);
    strcpy(name, "abc");
    C(prctl, 15, name, 0, 0, 0, 0); R(name, 4); over();
    memset(name, 'x', 4);
    C(prctl, 15, name, 0, 0, 0, 0); over();
    memset(one, 'y', 30);
    C(prctl, 15, one, 0, 0, 0, 0); R(one, 15); over();
    name = strcpy(before_end(6), "/none");
    C(access, name, 0, 0, 0, 0, 0); R(name, 6); over();
}

/* ---- memory ---- */

static void key(int fd, Word *device, Word *number)
{
    struct stat status;
    fstat(fd, &status);
    *device = status.st_dev;
    *number = status.st_ino;
}

#define PAGE 4096UL

static void memory(const char *folder)
{
    /* Private memory: what is taken back is as new. */
    char *p = (char *)C(mmap, 0, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SAY("map", (Word)p, 5 * PAGE, 6, 0); over();
    C(madvise, p, 2 * PAGE - 5, MADV_DONTNEED, 0, 0, 0); SAY("fresh", (Word)p, 2 * PAGE); over();
    C(madvise, p, PAGE, MADV_WILLNEED, 0, 0, 0); over();
    C(madvise, p + PAGE, PAGE, MADV_FREE, 0, 0, 0); SAY("fresh", (Word)p + PAGE, PAGE); over();
    C(mprotect, p + PAGE, PAGE, PROT_READ, 0, 0, 0); SAY("protect", (Word)p + PAGE, PAGE, 4); over();
    C(munmap, p + 4 * PAGE, PAGE, 0, 0, 0, 0); SAY("unmap", (Word)p + 4 * PAGE, PAGE); over();
    C(munmap, p + 3 * PAGE, 100, 0, 0, 0, 0); SAY("unmap", (Word)p + 3 * PAGE, PAGE); over();
    C(munmap, 1, PAGE, 0, 0, 0, 0); over();
    char *q = (char *)C(mmap, 0, PAGE + 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SAY("map", (Word)q, 2 * PAGE, 5, 0); over();
    C(mprotect, q, 2 * PAGE, PROT_WRITE, 0, 0, 0); SAY("protect", (Word)q, 2 * PAGE, 2); over();
    C(mprotect, q, 2 * PAGE, PROT_EXEC, 0, 0, 0); SAY("protect", (Word)q, 2 * PAGE, 1); over();
    C(munmap, q, 2 * PAGE, 0, 0, 0, 0); SAY("unmap", (Word)q, 2 * PAGE); over();
    /* A range with holes: what is there is taken back. */
    C(munmap, p + PAGE, PAGE, 0, 0, 0, 0); SAY("unmap", (Word)p + PAGE, PAGE); over();
    C(madvise, p, 3 * PAGE, MADV_DONTNEED, 0, 0, 0); SAY("fresh", (Word)p, 3 * PAGE); over();
    C(madvise, 1, PAGE, MADV_DONTNEED, 0, 0, 0); over();
    /* The end of the data. */
    Word last = raw(SYS_brk, 0, 0, 0, 0, 0, 0);
    C(brk, last + 100, 0, 0, 0, 0, 0); SAY("map", last, 100, 6, 0); over();
    C(brk, last + 100, 0, 0, 0, 0, 0); over();
    C(brk, last, 0, 0, 0, 0, 0); SAY("unmap", last, 100); over();
    /* Shared memory of a file, at two places; a part of it is not there any more. */
    int fd = must(memfd_create("shared", 0));
    ftruncate(fd, 6 * PAGE);
    Word device, number;
    key(fd, &device, &number);
    char *a = (char *)C(mmap, 0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
    say("map_of", 4, a, 4 * PAGE, 6UL, PAGE); SAY("share", (Word)a, 4 * PAGE, device, number, PAGE); over();
    char *b = (char *)C(mmap, 0, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    say("map_of", 4, b, 6 * PAGE, 6UL, 0UL); SAY("share", (Word)b, 6 * PAGE, device, number, 0); over();
    char *c = (char *)C(mmap, 0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    say("map_of", 4, c, 2 * PAGE, 6UL, 0UL); over();
    C(munmap, a + PAGE, PAGE, 0, 0, 0, 0); SAY("unmap", (Word)a + PAGE, PAGE); over();
    /* Shared memory stays; it goes where the file loses it: of each mapping the part that it has. */
    C(madvise, b, 6 * PAGE, MADV_DONTNEED, 0, 0, 0); over();
    C(madvise, c, 2 * PAGE, MADV_DONTNEED, 0, 0, 0); SAY("fresh", (Word)c, 2 * PAGE); over();
    C(madvise, b + PAGE, PAGE, MADV_REMOVE, 0, 0, 0); SAY("fresh", (Word)b + PAGE, PAGE); over();
    C(write, fd, one, 10, 0, 0, 0); SAY("kernel_read", (Word)one, 10, 0); SAY("file_write", device, number, 0, 10, (Word)one); over();
    C(write, fd, one, 10, 0, 0, 0); R(one, 10); SAY("file_write", device, number, 10, 10, (Word)one); over();
    C(pwrite64, fd, one, 10, 5000, 0, 0); R(one, 10); SAY("file_write", device, number, 5000, 10, (Word)one); over();
    struct iovec parts[2] = { { one, 4 }, { two, 6 } };
    C(writev, fd, parts, 2, 0, 0, 0);
    R(one, 4); SAY("file_write", device, number, 20, 4, (Word)one);
    R(two, 6); SAY("file_write", device, number, 24, 6, (Word)two); over();
    C(pwritev, fd, parts, 2, 300, 0, 0);
    R(one, 4); SAY("file_write", device, number, 300, 4, (Word)one);
    R(two, 6); SAY("file_write", device, number, 304, 6, (Word)two); over();
    C(pwritev2, fd, parts, 1, 350, 0, 0); R(one, 4); SAY("file_write", device, number, 350, 4, (Word)one); over();
    C(pwritev2, fd, parts, 1, -1, 0, 0); R(one, 4); SAY("file_write", device, number, 30, 4, (Word)one); over();
    C(write, fd, one, 0, 0, 0, 0); over();
    /* Bytes that do not come from memory. */
    int from = must(open(in(folder, "from"), O_RDWR | O_CREAT | O_TRUNC, 0600));
    write(from, one, 100);
    off_t at = 0;
    C(sendfile, fd, from, &at, 40, 0, 0);
    S(&at, 8); SAY("file_write", device, number, 34, 40, 0); over();
    int near = must(memfd_create("near", 0));
    write(near, one, 100);
    loff_t first = 0, to = 600;
    C(copy_file_range, near, &first, fd, &to, 50, 0);
    S(&first, 8); S(&to, 8); SAY("file_write", device, number, 600, 50, 0); over();
    int pipes[2];
    pipe(pipes);
    write(pipes[1], one, 30);
    to = 700;
    C(splice, pipes[0], 0, fd, &to, 30, 0);
    S(&to, 8); SAY("file_write", device, number, 700, 30, 0); over();
    C(splice, pipes[0], 0, fd, &to, 30, 2); over();
    C(splice, fd, &first, pipes[1], 0, 20, 0); S(&first, 8); over();
    C(copy_file_range, near, 0, near, &to, 0, 0); over();
    close(pipes[0]);
    close(pipes[1]);
    /* The end of the file: of shared memory all behind it, of private memory whole pages. */
    C(ftruncate, fd, PAGE + 100, 0, 0, 0, 0);
    SAY("any_order");
    SAY("fresh", (Word)a + 100, PAGE - 100); SAY("fresh", (Word)a + 2 * PAGE, 2 * PAGE); SAY("fresh", (Word)b + PAGE + 100, 5 * PAGE - 100);
    over();
    C(ftruncate, fd, 6 * PAGE, 0, 0, 0, 0); over();
    C(fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * PAGE, 2 * PAGE, 0, 0);
    SAY("any_order"); SAY("fresh", (Word)a + 2 * PAGE, 2 * PAGE); SAY("fresh", (Word)b + 3 * PAGE, 2 * PAGE); over();
    C(fallocate, fd, 0, 0, PAGE, 0, 0); over();
    /* It moves; what is left behind is not of the file. */
    char *moved = (char *)C(mremap, b, 6 * PAGE, 3 * PAGE, MREMAP_MAYMOVE, 0, 0);
    if (moved != b) exit(9);
    SAY("unmap", (Word)b + 3 * PAGE, 3 * PAGE); SAY("share", (Word)b, 3 * PAGE, device, number, 0); over();
    /* Into the middle of others: what lay there is not of its file any more. */
    char *over_it = (char *)C(mmap, b + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    SAY("map", (Word)over_it, PAGE, 6, 0); over();
    C(ftruncate, fd, 0, 0, 0, 0, 0);
    SAY("any_order");
    SAY("fresh", (Word)a, PAGE); SAY("fresh", (Word)a + 2 * PAGE, 2 * PAGE); SAY("fresh", (Word)b, PAGE); SAY("fresh", (Word)b + 2 * PAGE, PAGE);
    SAY("fresh", (Word)c, 2 * PAGE);
    over();
    C(munmap, b, 3 * PAGE, 0, 0, 0, 0); SAY("unmap", (Word)b, 3 * PAGE); over();
    /* Behind the end there is nothing, still. */
    C(ftruncate, fd, PAGE, 0, 0, 0, 0);
    SAY("any_order"); SAY("fresh", (Word)a, PAGE); SAY("fresh", (Word)a + 2 * PAGE, 2 * PAGE); SAY("fresh", (Word)c + PAGE, PAGE); over();
    /* Private memory moves. */
    char *here = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *there = mmap(0, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(there, 4 * PAGE);
    C(mremap, here, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there, 0); 
    SAY("move", (Word)here, (Word)there, 2 * PAGE); SAY("map", (Word)there + 2 * PAGE, PAGE, 0, 0); SAY("unmap", (Word)here, 2 * PAGE); over();
    /* By descriptors of their own, by path. */
    in(folder, "mapped");
    int file = must(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
    ftruncate(file, 3 * PAGE);
    key(file, &device, &number);
    char *d = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    C(truncate, path, 2 * PAGE, 0, 0, 0, 0); SAY("fresh", (Word)d + 2 * PAGE, PAGE); R(path, strlen(path) + 1); over();
    C(truncate, in(folder, "none"), 2 * PAGE, 0, 0, 0, 0); R(path, strlen(path) + 1); over();
    in(folder, "mapped");
    int added = must(open(path, O_WRONLY | O_APPEND));
    C(write, added, one, 10, 0, 0, 0); R(one, 10); SAY("file_write", device, number, 2 * PAGE, 10, (Word)one); over();
    C(open, path, O_RDWR, 0, 0, 0, 0); R(path, strlen(path) + 1); over();
    C(openat, AT_FDCWD, path, O_RDWR, 0, 0, 0); R(path, strlen(path) + 1); over();
    C(open, path, O_RDWR | O_TRUNC, 0, 0, 0, 0); SAY("fresh", (Word)d, 3 * PAGE); R(path, strlen(path) + 1); over();
    C(openat, AT_FDCWD, path, O_RDWR | O_TRUNC, 0, 0, 0); SAY("fresh", (Word)d, 3 * PAGE); R(path, strlen(path) + 1); over();
    C(creat, path, 0600, 0, 0, 0, 0); SAY("fresh", (Word)d, 3 * PAGE); R(path, strlen(path) + 1); over();
    /* System V. */
    int segment = shmget(IPC_PRIVATE, 2 * PAGE, 0600 | IPC_CREAT);
    if (segment >= 0) {
        char *s = (char *)C(shmat, segment, 0, 0, 0, 0, 0);
        say("map_of", 4, s, 2 * PAGE, 6UL, 0UL);
        SAY("share", (Word)s, 2 * PAGE, ~0UL, segment, 0); over();
        C(shmdt, s, 0, 0, 0, 0, 0); SAY("unmap", (Word)s, 2 * PAGE); over();
        shmctl(segment, IPC_RMID, 0);
    }
}

/* ---- allocations: functions with these names that give what they like ---- */

static char pool[1 << 16];
static char *next_of_pool = pool;

__attribute__((noinline)) static void *taken(Word bytes)
{
    char *p = next_of_pool;
    if (bytes > 1000) return 0;
    next_of_pool += (bytes + 15) & ~15UL;
    return p;
}

#define APART __attribute__((noinline, used))
APART void *_malloc_r(void *r, Word n) { return taken(n + !r); }
APART void *_calloc_r(void *r, Word n, Word m) { return taken(n * m + !r); }
APART void *_memalign_r(void *r, Word a, Word n) { return taken(n + !r + !a); }
APART void _free_r(void *r, void *p) { one[0] = !r + !p; }
APART void *_realloc_r(void *r, void *p, Word n) { return p ? _malloc_r(r, n) : 0; }
APART void *told_pvalloc(Word n) __asm__("pvalloc");
APART void *told_pvalloc(Word n) { return taken(n); }
APART void *told_valloc(Word n) __asm__("valloc");
APART void *told_valloc(Word n) { return taken(n); }
APART void *told_array(void *p, Word n, Word m) __asm__("reallocarray");
APART void *told_array(void *p, Word n, Word m) { return p ? taken(n * m) : 0; }
APART void told_sized(void *p, Word n) __asm__("free_sized");
APART void told_sized(void *p, Word n) { one[0] = n + !p; }
APART void told_aligned(void *p, Word a, Word n) __asm__("free_aligned_sized");
APART void told_aligned(void *p, Word a, Word n) { one[0] = a + n + !p; }
APART void told_cfree(void *p) __asm__("cfree");
APART void told_cfree(void *p) { one[0] = !p; }
/* operator new(unsigned long), new[](unsigned long), with a thing that does not throw, with an alignment, placement. */
APART void *new_one(Word n) __asm__("_Znwm");
APART void *new_one(Word n) { return taken(n); }
APART void *new_many(Word n) __asm__("_Znam");
APART void *new_many(Word n) { return new_one(n + 8); }
APART void *new_quiet(Word n, const void *no) __asm__("_ZnwmRKSt9nothrow_t");
APART void *new_quiet(Word n, const void *no) { return taken(n + !no); }
APART void *new_there(Word n, void *p) __asm__("_ZnwmPv");
APART void *new_there(Word n, void *p) { return n ? p : 0; }
APART void gone_one(void *p) __asm__("_ZdlPv");
APART void gone_one(void *p) { one[0] = !p; }
APART void gone_many(void *p) __asm__("_ZdaPv");
APART void gone_many(void *p) { gone_one(p); }
APART void gone_sized(void *p, Word n) __asm__("_ZdlPvm");
APART void gone_sized(void *p, Word n) { one[0] = n + !p; }
APART void gone_there(void *p, void *q) __asm__("_ZdlPvS_");
APART void gone_there(void *p, void *q) { one[0] = !p + !q; }
/* Not what their names begin with. */
APART void *mallocator(Word n) { return taken(n); }
APART void *told_of_class(Word n) __asm__("_ZN4pool6mallocEm");
APART void *told_of_class(Word n) { return taken(n); }
APART void *told_no_type(int n) __asm__("_Znwi");
APART void *told_no_type(int n) { return taken(n); }
/* As --allocator says. */
APART void *pool_get(Word n) { return taken(n); }
APART int pool_put(void **to, Word align, Word n) { *to = taken(n + !align); return n > 500 ? 12 : 0; }

/* A signal comes while one is asked for, and its handler asks, too: of some each gets its own. */
static volatile int handlers;
static void asks_again(int signal);
APART void *told_slow(Word n) __asm__("_memalign_r_slow");
APART void *told_slow(Word n)
{
    void *p = taken(n);
    raw(SYS_tkill, raw(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGUSR1, 0, 0, 0, 0);
    return p;
}
APART void *pool_slow(Word n) { return told_slow(n); }

static void asks_again(int signal)
{
    void *p;
    if (++handlers < 3) {
        p = pool_slow(60 + handlers);
        SAY("allocate", (Word)p, 60 + (Word)--handlers);
        return;
    }
    p = new_one(50);
    SAY("allocate", (Word)p, 50);
    SAY("free", (Word)p);
    gone_one(p);
}

static void in_handlers(void)
{
    struct sigaction act = { .sa_handler = asks_again, .sa_flags = SA_NODEFER };
    sigaction(SIGUSR1, &act, 0);
    void *p = pool_slow(60);
    SAY("allocate", (Word)p, 60);
    /* As before. */
    p = new_one(51);
    SAY("allocate", (Word)p, 51);
}

/* ---- threads ---- */

static char stack[1 << 14] __attribute__((aligned(16)));
static volatile int number_there, done;

static void thread_of(Word flags)
{
    flags |= CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    register Word r10 __asm__("r10") = (Word)&number_there, r8 __asm__("r8") = 0;
    long result;
    done = 0;
    number_there = 5;
    __asm__ volatile("syscall; test %%rax, %%rax; jnz 1f; movl $1, done(%%rip); mov $60, %%eax; xor %%edi, %%edi; syscall; 1:"
                     : "=a"(result) : "a"(SYS_clone), "D"(flags), "S"(stack + sizeof stack), "d"(0), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    while (!done || (flags & CLONE_CHILD_CLEARTID && number_there)) nanosleep(&(struct timespec){ 0, 1000000 }, 0);
    if (!(flags & CLONE_CHILD_CLEARTID)) nanosleep(&(struct timespec){ 0, 20000000 }, 0);
}

static void threads(void)
{
    thread_of(0);
    say("thread_start", 2, 2UL, 1UL); say("thread_end", 1, 2UL);
    thread_of(CLONE_CHILD_CLEARTID);
    say("thread_start", 2, 3UL, 1UL);
    say("kernel_write", 2, &number_there, 4UL); say("thread_end", 1, 3UL);
    thread_of(0);
    say("thread_start", 2, 4UL, 1UL); say("thread_end", 1, 4UL);
}

/* ---- descriptors: named before the first call that uses them, and when they are something else ---- */

static void named(int fd, const char *what) { end += sprintf(end, "descriptor 0x%x %s\n", fd, what); }

static void descriptors(const char *folder)
{
    char name[4200];
    int a = must(open(in(folder, "a"), O_RDWR | O_CREAT | O_TRUNC, 0600));
    realpath(path, name);
    write(a, one, 5); named(a, name);
    write(a, one, 5);
    int copy = dup(a);
    close(a);
    write(copy, one, 5); named(copy, name);
    /* The number is of nothing, then of another file. */
    write(a, one, 5); named(a, "");
    int b = must(open(in(folder, "b"), O_RDWR | O_CREAT | O_TRUNC, 0600));
    if (b != a) exit(9);
    realpath(path, name);
    write(b, one, 5); named(b, name);
    write(900, one, 5);
    int pipes[2];
    pipe2(pipes, 0);
    sprintf(name, "/proc/self/fd/%d", pipes[0]);
    for (int i = 0; i < 2; i++) {
        char link[100] = "";
        readlink(name, link, 99);
        named(pipes[i], link);
    }
    close(b);
    close(copy);
    close(pipes[0]);
    close(pipes[1]);
    /* Each call that has one, or two: the arguments' numbers. They fail, or move nothing. */
    static const struct { int number, first, second; } of[] = {
        { SYS_read, 0, -1 }, { SYS_pread64, 0, -1 }, { SYS_readv, 0, -1 }, { SYS_preadv, 0, -1 }, { SYS_preadv2, 0, -1 }, { SYS_pwritev2, 0, -1 },
        { SYS_recvfrom, 0, -1 }, { SYS_recvmsg, 0, -1 }, { SYS_getdents, 0, -1 }, { SYS_getdents64, 0, -1 }, { SYS_write, 0, -1 },
        { SYS_pwrite64, 0, -1 }, { SYS_writev, 0, -1 }, { SYS_pwritev, 0, -1 }, { SYS_vmsplice, 0, -1 }, { SYS_sendto, 0, -1 },
        { SYS_sendmsg, 0, -1 }, { SYS_sendfile, 1, 0 }, { SYS_splice, 0, 2 }, { SYS_tee, 0, 1 }, { SYS_copy_file_range, 0, 2 }, { SYS_ioctl, 0, -1 },
    };
    static struct msghdr nothing;
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        Word arguments[6] = { 0 };
        char first[30], second[30];
        sprintf(first, "first-%u", i), sprintf(second, "second-%u", i);
        int is_message = of[i].number == SYS_recvmsg || of[i].number == SYS_sendmsg;
        if (is_message) arguments[1] = (Word)&nothing;
        int one_fd = must(open(in(folder, first), O_RDWR | O_CREAT | O_TRUNC, 0600)), two_fd = must(open(in(folder, second), O_RDWR | O_CREAT | O_TRUNC, 0600));
        arguments[of[i].first] = one_fd;
        realpath(in(folder, first), name);
        named(one_fd, name);
        if (of[i].second >= 0) {
            arguments[of[i].second] = two_fd;
            realpath(in(folder, second), name);
            named(two_fd, name);
        }
        raw(of[i].number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
        close(one_fd);
        close(two_fd);
    }
}

#define GAVE(p, bytes) do { void *p_ = (p); SAY("allocate", (Word)p_, (Word)(bytes)); keep = p_; } while (0)
#define FREED(p) SAY("free", (Word)(p))
#define AGAIN(p) SAY("reallocate", (Word)(p))

static void allocations(void)
{
    void *volatile keep, *volatile other;
    GAVE(_malloc_r(one, 24), 24);
    GAVE(_malloc_r(one, 5000), 5000);
    FREED(keep = other = one + 64); _free_r(one, other);
    _free_r(one, 0);
    GAVE(_calloc_r(one, 3, 8), 24);
    GAVE(_calloc_r(one, 1UL << 40, 1UL << 40), ~0UL);
    GAVE(_memalign_r(one, 64, 72), 72);
    AGAIN(two); GAVE(_realloc_r(one, two, 40), 40);
    GAVE(_realloc_r(one, 0, 40), 40);
    GAVE(told_pvalloc(17), 17);
    GAVE(told_valloc(18), 18);
    AGAIN(two); GAVE(told_array(two, 2, 9), 18);
    FREED(two); told_sized(two, 9);
    FREED(two); told_aligned(two, 8, 9);
    FREED(two); told_cfree(two);
    GAVE(new_one(19), 19);
    GAVE(new_many(20), 20);
    GAVE(new_quiet(21, one), 21);
    new_there(22, one);
    FREED(two); gone_one(two);
    FREED(three); gone_many(three);
    FREED(two); gone_sized(two, 9);
    gone_there(two, one);
    keep = mallocator(23);
    keep = told_of_class(24);
    keep = told_no_type(25);
    GAVE(pool_get(26), 26);
    void *got = 0;
    int failed = pool_put(&got, 16, 27);
    SAY("allocate", (Word)got, 27);
    failed += pool_put(&got, 16, 999);
    SAY("allocate", 0, 999);
    one[0] = failed;
    in_handlers();
    /* The library's own. */
    other = malloc(28); SAY("allocate", (Word)other, 28);
    FREED(other); free(other);
    free(0);
    other = calloc(3, 7); SAY("allocate", (Word)other, 21);
    AGAIN(other); other = realloc(other, 5000); SAY("allocate", (Word)other, 5000);
    FREED(other); free(other);
    failed = posix_memalign(&got, 64, 29); SAY("allocate", (Word)got, 29);
    FREED(got); free(got);
    other = aligned_alloc(64, 128); SAY("allocate", (Word)other, 128);
    FREED(other); free(other);
    other = memalign(64, 30); SAY("allocate", (Word)other, 30);
    FREED(other); free(other);
}

/* ---- processes: with `children` ---- */

static int there;

static void child(const char *who, Word flags)
{
    Word parent = getpid();
    there = 7;
    long pid = raw(SYS_clone, flags | SIGCHLD, 0, 0, (Word)&there, 0, 0);
    if (!pid) raw(SYS_exit, 0, 0, 0, 0, 0, 0);
    say("fork", 1, pid);
    end += sprintf(end, "%s: inherit 0x%lx\n", who, parent);
    if (flags) end += sprintf(end, "%s: kernel_write 0x%lx 0x4 0x0\n", who, (Word)&there);
    end += sprintf(end, "%s: syscall 0x3c 0x8 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", who);
    waitpid(pid, 0, 0);
}

int main(int count, char **names)
{
    const char *folder = names[count - 1];
    int pipes[2], pair[2];
    int file = must(open(in(folder, "file"), O_RDWR | O_CREAT | O_TRUNC, 0600));
    pipe(pipes);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    struct { const char *name; } parts[] = { { "buffers" }, { "many" }, { "messages" }, { "others" }, { "memory" }, { "allocations" }, { "threads" }, { "descriptors" }, { "edges" } };
    if (count == 3) {
        child("first", 0);
        child("second", CLONE_CHILD_SETTID);
    }
    for (unsigned i = 0; count == 2 && i < sizeof parts / sizeof *parts; i++) {
        border();
        say("part", 1, (Word)i);
        if (i == 0) buffers(file, pipes[0], pipes[1]);
        if (i == 1) many_parts(file);
        if (i == 2) messages(pair[0], pair[1]);
        if (i == 3) others(folder, file, pipes[0]);
        if (i == 4) memory(folder);
        if (i == 5) allocations();
        if (i == 6) threads();
        if (i == 7) descriptors(folder);
        if (i == 8) edges(file, pair[0], pair[1]);
    }
    /* What the first instruction had: the arguments' count lies there. */
    if (count == 2) say("stack", 1, (Word)names - 8);
    if (count == 2) border();
    int said = must(open(in(folder, "expected"), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    write(said, text, end - text);
    return 0;
}
