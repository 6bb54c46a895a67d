/* What system calls read and write, as the kernel itself shows it: kernel FOLDER [calls|reads [WITHOUT...]]. Makes files in FOLDER; says on standard output:
 *
 * `call NUMBER NAME TURN RESULT FIRST-LAST... =FIRST-LAST...`: each call is made twice, with memory of two patterns; the bytes that are others
 * behind it, and those that stood there for it to read (it may write them again). Before each stands a call that fails:
 * getpgid(0x7a000000 + NUMBER).
 *
 * `reads NUMBER NAME THING BYTES of SIZE: RESULT`, with `reads`: so many bytes of each thing that is given the kernel reads; with fewer of
 * them, and nothing behind, the call fails with EFAULT.
 *
 * Ends with 77 where sockets cannot be had. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <mqueue.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <asm/prctl.h>
#endif

/* Calls that an instruction set has by another name, or not at all: those fail. */
#ifndef SYS_newfstatat
#define SYS_newfstatat SYS_fstatat64
#endif
#ifndef SYS_select
#ifdef SYS__newselect
#define SYS_select SYS__newselect
#else
#define SYS_select 9999
#endif
#endif
#ifndef SYS_stat
#define SYS_stat 9999
#endif
#ifndef SYS_lstat
#define SYS_lstat 9999
#endif
#ifndef SYS_getdents
#define SYS_getdents 9999
#endif
#ifndef SYS_readlink
#define SYS_readlink 9999
#endif
#ifndef SYS_pipe
#define SYS_pipe 9999
#endif
#ifndef SYS_time
#define SYS_time 9999
#endif
#ifndef SYS_poll
#define SYS_poll 9999
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait 9999
#endif
#ifndef SYS_accept
#define SYS_accept 9999
#endif
#ifndef SYS_ustat
#define SYS_ustat 9999
#endif
#ifndef SYS_sysfs
#define SYS_sysfs 9999
#endif
#ifndef SYS_getrlimit
#define SYS_getrlimit 9999
#endif
#ifndef SYS_semop
#define SYS_semop -1
#endif
#ifndef SYS_semtimedop
#define SYS_semtimedop -1
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 9999
#endif
#ifndef SYS_stat64
#define SYS_stat64 9999
#endif
#ifndef SYS_lstat64
#define SYS_lstat64 9999
#endif
#ifndef SYS_fstat64
#define SYS_fstat64 9999
#endif
#ifndef SYS_statfs64
#define SYS_statfs64 9999
#endif
#ifndef SYS_fstatfs64
#define SYS_fstatfs64 9999
#endif
#ifndef SYS__llseek
#define SYS__llseek 9999
#endif
#ifndef SYS_ugetrlimit
#define SYS_ugetrlimit 9999
#endif
#ifndef SYS_fcntl64
#define SYS_fcntl64 9999
#endif
#ifndef SYS_sendfile64
#define SYS_sendfile64 9999
#endif
#ifndef SYS_recv
#define SYS_recv 9999
#endif
#ifndef SYS_send
#define SYS_send 9999
#endif
#ifndef SYS_getgroups32
#define SYS_getgroups32 9999
#endif
#ifndef SYS_getresuid32
#define SYS_getresuid32 9999
#endif
#ifndef SYS_sigprocmask
#define SYS_sigprocmask 9999
#endif
#ifndef SYS_sigpending
#define SYS_sigpending 9999
#endif
#ifndef SYS_clock_gettime64
#define SYS_clock_gettime64 9999
#endif
#ifndef SYS_clock_getres_time64
#define SYS_clock_getres_time64 9999
#endif
#ifndef SYS_clock_nanosleep_time64
#define SYS_clock_nanosleep_time64 9999
#endif
#ifndef SYS_ppoll_time64
#define SYS_ppoll_time64 9999
#endif
#ifndef SYS_pselect6_time64
#define SYS_pselect6_time64 9999
#endif
#ifndef SYS_futex_time64
#define SYS_futex_time64 9999
#endif
#ifndef SYS_timer_gettime64
#define SYS_timer_gettime64 9999
#endif
#ifndef SYS_timer_settime64
#define SYS_timer_settime64 9999
#endif
#ifndef SYS_timerfd_gettime64
#define SYS_timerfd_gettime64 9999
#endif
#ifndef SYS_timerfd_settime64
#define SYS_timerfd_settime64 9999
#endif
#ifndef SYS_recvmmsg_time64
#define SYS_recvmmsg_time64 9999
#endif
#ifndef SYS_utimensat_time64
#define SYS_utimensat_time64 9999
#endif
#ifndef SYS_rt_sigtimedwait_time64
#define SYS_rt_sigtimedwait_time64 9999
#endif
#ifndef SYS_sched_rr_get_interval_time64
#define SYS_sched_rr_get_interval_time64 9999
#endif
#ifndef SYS_semtimedop_time64
#define SYS_semtimedop_time64 9999
#endif
#ifndef SYS_clock_adjtime64
#define SYS_clock_adjtime64 9999
#endif

enum { SIZE = 1 << 12 };
static unsigned char *arena, *before;
static char *text, *end;
static size_t used;
enum { TURNS = 4 };
static int turn;

/* Room for a structure, with others' bytes around it. */
static void *room(size_t bytes)
{
    void *at = arena + used;
    used += (bytes + 15) / 16 * 16 + 48;
    if (used > SIZE) abort();
    return at;
}

/* What stands there before the call: the kernel may write it again. */
static struct { unsigned char *at; size_t n; } given[32];
static int givens;
/* Of this one, only so many bytes are there: behind them lies memory that nobody may read. */
static int shortened = -1;
static size_t there;
static unsigned char *border;
static void *filled(const void *bytes, size_t n)
{
    unsigned char *at = givens == shortened ? border - there : room(n);
    given[givens].at = at, given[givens++].n = n;
    return memcpy(at, bytes, at == border - there && givens - 1 == shortened ? there : n);
}
static char *string(const char *s) { return filled(s, strlen(s) + 1); }
#define NEW(type, ...) ((type *)filled(&(type)__VA_ARGS__, sizeof(type)))
#define OUT(type) ((long)room(sizeof(type)))

static long call6(long nr, long a, long b, long c, long d, long e, long f)
{
    long r = syscall(nr, a, b, c, d, e, f);
    return r < 0 ? -errno : r;
}

static int cases;
static long last_result;

static char **left_out = (char *[]){ NULL };
static int is_left_out(const char *name)
{
    for (char **p = left_out; *p; p++) if (!strcmp(*p, name)) return 1;
    return 0;
}

static void probe(const char *name, void (*prepare)(long *), void (*after)(void), int number)
{
    /* A byte that is written in each turn with what stood there looks as if nobody had: of a clock one of 65,536 does so in two. */
    static const unsigned char stands[TURNS] = { 0xa5, 0x5a, 0x3c, 0xc3 };
    for (turn = 0; turn < TURNS && !is_left_out(name); turn++) {
        for (size_t i = 0; i < SIZE; i += 8) *(volatile uint64_t *)(arena + i) = stands[turn] * 0x101010101010101;
        used = 64, givens = 0;
        long a[7] = { 0 };
        prepare(a);
        memcpy(before, arena, SIZE);
        syscall(SYS_getpgid, 0x7a000000 + number);
        long r = call6(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
        last_result = r;
        end += sprintf(end, "call %d %s %d %ld", number, name, turn, r);
        for (size_t i = 0; i < SIZE;) {
            if (i % 256 == 0 && !memcmp(arena + i, before + i, 256)) { i += 256; continue; }
            if (arena[i] == before[i]) { i++; continue; }
            size_t first = i;
            while (i < SIZE && arena[i] != before[i]) i++;
            end += sprintf(end, " %lx-%lx", (long)(arena + first), (long)(arena + i - 1));
        }
        for (int i = 0; i < givens; i++) end += sprintf(end, " =%lx-%lx", (long)given[i].at, (long)(given[i].at + given[i].n - 1));
        *end++ = '\n';
        setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
        if (after) after();
    }
}

/* How many bytes of each thing that is given the kernel reads: with fewer of them the call fails, as they are not there. */
static void measure(const char *name, void (*prepare)(long *), void (*after)(void), int number)
{
    int things = !is_left_out(name);
    for (int thing = 0; thing < things; thing++) {
        size_t most = 1;
        for (size_t k = 0; k <= most; k++) {
            memset(arena, 0, SIZE);
            used = 64, givens = 0, shortened = thing, there = k;
            long a[7] = { 0 };
            prepare(a);
            things = givens;
            if (!givens) break;
            most = given[thing].n;
            long r = call6(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
            last_result = r;
            setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
            if (after) after();
            if ((r == -EFAULT || (r == -EINVAL && a[0] == SYS_futex)) && k < most) continue;
            end += sprintf(end, "reads %d %s %d %ld of %ld: %ld\n", number, name, thing, r == -EFAULT ? -1L : (long)k, (long)most, r);
            break;
        }
    }
    shortened = -1;
}

static void (*with)(const char *, void (*)(long *), void (*)(void), int) = probe;

#define A(...) do { long v_[] = { __VA_ARGS__ }; memcpy(a, v_, sizeof v_); } while (0)
#define P(x) ((long)(x))
#define C(name, ...) static void p_##name(long *a) { __VA_ARGS__; }

static char folder[300], file[400], other[400];
static int fd, pipes[2], pairs[2], dgram[2], directory, epoll, event, timer, inotify, server, port;
static void nothing(int s) { (void)s; }
static void close_result(void) { if (last_result >= 0) close(last_result); }
static void feed_pipe(void) { if (write(pipes[1], "0123456789abcdef", 16) != 16) abort(); }
static void drain_pipe(void) { char b[64]; fcntl(pipes[0], F_SETFL, O_NONBLOCK); while (read(pipes[0], b, 64) > 0); fcntl(pipes[0], F_SETFL, 0); }
static void feed(int to) { if (send(to, "0123456789abcdef", 16, 0) != 16) abort(); }
static void drain(int from) { char b[64]; while (recv(from, b, 64, MSG_DONTWAIT) > 0); }
static void drain_pairs(void) { drain(pairs[0]); drain(dgram[0]); }
static void rewind_file(void) { lseek(fd, 0, SEEK_SET); }

C(read, rewind_file(); A(SYS_read, fd, P(room(100)), 60))
C(read_short, lseek(fd, -7, SEEK_END); A(SYS_read, fd, P(room(100)), 60))
C(read_pipe, feed_pipe(); A(SYS_read, pipes[0], P(room(100)), 60))
C(read_zero, lseek(fd, 0, SEEK_END); A(SYS_read, fd, P(room(100)), 60))
C(pread, A(SYS_pread64, fd, P(room(100)), 33, 5))
static struct iovec *vector(int n, size_t each)
{
    struct iovec *v = room(n * sizeof *v);
    for (int i = 0; i < n; i++) v[i] = (struct iovec){ room(each), each - i };
    return v;
}
C(readv, rewind_file(); A(SYS_readv, fd, P(vector(3, 20)), 3))
C(readv_short, lseek(fd, -25, SEEK_END); A(SYS_readv, fd, P(vector(3, 20)), 3))
C(preadv, A(SYS_preadv, fd, P(vector(3, 20)), 3, 4, 0))
C(preadv2, A(SYS_preadv2, fd, P(vector(2, 20)), 2, -1, 0, 0); rewind_file())
C(fstat, A(SYS_fstat, fd, OUT(struct stat)))
C(stat, A(SYS_stat, P(string(file)), OUT(struct stat)))
C(lstat, A(SYS_lstat, P(string(file)), OUT(struct stat)))
C(newfstatat, A(SYS_newfstatat, AT_FDCWD, P(string(file)), OUT(struct stat), 0))
C(statx, A(SYS_statx, AT_FDCWD, P(string(file)), 0, STATX_ALL, OUT(struct statx)))
C(statx_empty, A(SYS_statx, fd, P(string("")), AT_EMPTY_PATH, STATX_BASIC_STATS, OUT(struct statx)))
C(statfs, A(SYS_statfs, P(string(file)), OUT(struct statfs)))
C(fstatfs, A(SYS_fstatfs, fd, OUT(struct statfs)))
C(stat_missing, A(SYS_newfstatat, AT_FDCWD, P(string("/nowhere")), OUT(struct stat), 0))
C(getdents64, lseek(directory, 0, SEEK_SET); A(SYS_getdents64, directory, P(room(600)), 600))
C(getdents, lseek(directory, 0, SEEK_SET); A(SYS_getdents, directory, P(room(600)), 600))
C(readlink, A(SYS_readlink, P(string(other)), P(room(300)), 300))
C(readlinkat, A(SYS_readlinkat, AT_FDCWD, P(string(other)), P(room(300)), 9))
C(getcwd, A(SYS_getcwd, P(room(300)), 300))
C(getcwd_small, A(SYS_getcwd, P(room(2)), 1))
C(getxattr, A(SYS_getxattr, P(string(file)), P(string("user.a")), P(room(100)), 100))
C(fgetxattr, A(SYS_fgetxattr, fd, P(string("user.a")), P(room(100)), 100))
C(lgetxattr, A(SYS_lgetxattr, P(string(file)), P(string("user.a")), P(room(100)), 100))
C(listxattr, A(SYS_listxattr, P(string(file)), P(room(100)), 100))
C(flistxattr, A(SYS_flistxattr, fd, P(room(100)), 100))
C(llistxattr, A(SYS_llistxattr, P(string(file)), P(room(100)), 100))
static long made;
C(pipe, made = OUT(int[2]); A(SYS_pipe, made))
C(pipe2, made = OUT(int[2]); A(SYS_pipe2, made, O_CLOEXEC))
C(socketpair, made = OUT(int[2]); A(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, made))
static void close_made(void) { close(((int *)made)[0]); close(((int *)made)[1]); }
C(uname, A(SYS_uname, OUT(struct utsname)))
C(sysinfo, A(SYS_sysinfo, OUT(struct sysinfo)))
C(times, A(SYS_times, OUT(struct tms)))
C(getrusage, A(SYS_getrusage, RUSAGE_SELF, OUT(struct rusage)))
C(getrlimit, A(SYS_getrlimit, RLIMIT_NOFILE, OUT(struct rlimit)))
C(prlimit, A(SYS_prlimit64, 0, RLIMIT_CORE, P(NEW(struct rlimit64, { 0, 0 })), OUT(struct rlimit64)))
C(prlimit_other, A(SYS_prlimit64, getpid(), RLIMIT_STACK, 0, OUT(struct rlimit64)))
C(clock_gettime, A(SYS_clock_gettime, CLOCK_MONOTONIC, OUT(struct timespec)))
C(clock_gettime_cpu, A(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, OUT(struct timespec)))
C(clock_getres, A(SYS_clock_getres, CLOCK_REALTIME, OUT(struct timespec)))
C(clock_getres_null, A(SYS_clock_getres, CLOCK_REALTIME, 0))
C(clock_bad, A(SYS_clock_gettime, 9999, OUT(struct timespec)))
C(gettimeofday, A(SYS_gettimeofday, OUT(struct timeval), OUT(struct timezone)))
C(time, A(SYS_time, OUT(time_t)))
C(nanosleep, A(SYS_nanosleep, P(NEW(struct timespec, { 0, 1000 })), OUT(struct timespec)))
static void soon(void) { setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 20000 } }, NULL); }
C(nanosleep_cut, A(SYS_nanosleep, P(NEW(struct timespec, { 5, 0 })), OUT(struct timespec)); soon())
C(clock_nanosleep_cut, A(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, P(NEW(struct timespec, { 5, 0 })), OUT(struct timespec)); soon())
C(clock_nanosleep_until, A(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, P(NEW(struct timespec, { 1, 0 })), OUT(struct timespec)))
C(getitimer, A(SYS_getitimer, ITIMER_VIRTUAL, OUT(struct itimerval)))
C(setitimer, A(SYS_setitimer, ITIMER_REAL, P(NEW(struct itimerval, { { 0, 0 }, { 0, 0 } })), OUT(struct itimerval)))
static timer_t posix_timer;
static struct sigevent no_signal = { .sigev_notify = SIGEV_NONE };
C(timer_create, A(SYS_timer_create, CLOCK_MONOTONIC, P(filled(&no_signal, sizeof no_signal)), OUT(int)))
C(timer_gettime, A(SYS_timer_gettime, P(posix_timer), OUT(struct itimerspec)))
C(timer_settime, A(SYS_timer_settime, P(posix_timer), 0, P(NEW(struct itimerspec, { { 0, 0 }, { 100, 0 } })), OUT(struct itimerspec)))
C(timerfd_gettime, A(SYS_timerfd_gettime, timer, OUT(struct itimerspec)))
C(timerfd_settime, A(SYS_timerfd_settime, timer, 0, P(NEW(struct itimerspec, { { 0, 1000 }, { 0, 1000 } })), OUT(struct itimerspec)))
C(timerfd_read, A(SYS_read, timer, P(room(8)), 8))
C(eventfd_read, eventfd_write(event, 7); A(SYS_read, event, P(room(16)), 16))
C(adjtimex, A(SYS_adjtimex, P(NEW(struct timex, { .modes = 0 }))))
C(clock_adjtime, A(SYS_clock_adjtime, CLOCK_REALTIME, P(NEW(struct timex, { .modes = 0 }))))
C(rt_sigaction, A(SYS_rt_sigaction, SIGUSR2, 0, P(room(32)), 8))
static struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } ignoring = { SIG_IGN, 0, 0, 0 };
C(rt_sigaction_set, A(SYS_rt_sigaction, SIGWINCH, P(filled(&ignoring, sizeof ignoring)), P(room(32)), 8))
C(rt_sigprocmask, A(SYS_rt_sigprocmask, SIG_BLOCK, 0, P(room(8)), 8))
C(rt_sigpending, A(SYS_rt_sigpending, P(room(8)), 8))
C(sigaltstack, A(SYS_sigaltstack, 0, OUT(stack_t)))
static void queue(int s) { sigset_t b; sigemptyset(&b); sigaddset(&b, s); sigprocmask(SIG_BLOCK, &b, NULL); raise(s); }
static uint64_t mask_of(int s) { return 1ULL << (s - 1); }
C(rt_sigtimedwait, queue(SIGUSR1); A(SYS_rt_sigtimedwait, P(NEW(uint64_t, { mask_of(SIGUSR1) })), OUT(siginfo_t), P(NEW(struct timespec, { 0, 0 })), 8))
C(rt_sigtimedwait_none, A(SYS_rt_sigtimedwait, P(NEW(uint64_t, { mask_of(SIGUSR1) })), OUT(siginfo_t), P(NEW(struct timespec, { 0, 1000 })), 8))
static int signals;
C(signalfd_read, queue(SIGUSR1); A(SYS_read, signals, P(room(300)), 300))
C(wait4, pid_t p = fork(); if (!p) _exit(3); A(SYS_wait4, p, OUT(int), 0, OUT(struct rusage)))
C(wait4_none, A(SYS_wait4, -1, OUT(int), WNOHANG, OUT(struct rusage)))
C(waitid, pid_t p = fork(); if (!p) _exit(3); A(SYS_waitid, P_PID, p, OUT(siginfo_t), WEXITED, OUT(struct rusage)))
static pid_t sleeper;
C(waitid_nohang, A(SYS_waitid, P_PID, sleeper, OUT(siginfo_t), WEXITED | WNOHANG, OUT(struct rusage)))
C(poll, feed_pipe(); A(SYS_poll, P(NEW(struct pollfd, { pipes[0], POLLIN, 0 })), 1, 0))
C(poll_none, A(SYS_poll, P(NEW(struct pollfd, { pipes[0], POLLIN, 77 })), 1, 0))
C(poll_three, struct pollfd p[3] = { { pipes[0], POLLIN, 5 }, { -1, POLLIN, 6 }, { fd, POLLIN, 7 } }; A(SYS_poll, P(filled(p, sizeof p)), 3, 0))
C(ppoll, A(SYS_ppoll, P(NEW(struct pollfd, { pipes[0], POLLIN, 77 })), 1, P(NEW(struct timespec, { 0, 1000 })), 0, 0))
C(ppoll_ready, feed_pipe(); A(SYS_ppoll, P(NEW(struct pollfd, { pipes[0], POLLIN, 77 })), 1, P(NEW(struct timespec, { 9, 1000 })), 0, 0))
static fd_set *one(int f) { fd_set s; FD_ZERO(&s); FD_SET(f, &s); FD_SET(fd, &s); return filled(&s, sizeof s); }
C(select, feed_pipe(); A(SYS_select, 40, P(one(pipes[0])), P(one(pipes[1])), P(one(pipes[0])), P(NEW(struct timeval, { 5, 0 }))))
C(select_few, A(SYS_select, pipes[0] + 1, P(one(pipes[0])), 0, 0, P(NEW(struct timeval, { 0, 1000 }))))
C(select_none, A(SYS_select, 0, 0, 0, 0, P(NEW(struct timeval, { 0, 1000 }))))
C(pselect6, A(SYS_pselect6, 70, P(one(pipes[0])), 0, P(one(pipes[0])), P(NEW(struct timespec, { 0, 1000 })), 0))
C(epoll_wait, feed_pipe(); A(SYS_epoll_wait, epoll, P(room(200)), 5, 0))
C(epoll_pwait, feed_pipe(); A(SYS_epoll_pwait, epoll, P(room(200)), 5, 0, 0, 8))
C(epoll_pwait_none, A(SYS_epoll_pwait, epoll, P(room(200)), 5, 0, 0, 8))
C(epoll_pwait2, feed_pipe(); A(SYS_epoll_pwait2, epoll, P(room(200)), 5, P(NEW(struct timespec, { 0, 1000 })), 0, 8))
C(inotify_read, close(open(file, O_RDONLY)); A(SYS_read, inotify, P(room(500)), 500))
#define SA(x) P(room(sizeof(struct sockaddr_un))), P(NEW(int, { x }))
C(getsockname, A(SYS_getsockname, server, P(room(128)), P(NEW(int, { 128 }))))
C(getsockname_small, A(SYS_getsockname, server, P(room(128)), P(NEW(int, { 5 }))))
C(getsockname_in, A(SYS_getsockname, port, P(room(128)), P(NEW(int, { 128 }))))
C(getpeername, A(SYS_getpeername, pairs[0], P(room(128)), P(NEW(int, { 128 }))))
static int clients[TURNS];
static struct sockaddr_un server_name;
static void ring(void) { clients[turn] = socket(AF_UNIX, SOCK_STREAM, 0); if (connect(clients[turn], (void *)&server_name, sizeof server_name)) abort(); }
C(accept, ring(); A(SYS_accept, server, P(room(128)), P(NEW(int, { 128 }))))
C(accept4, ring(); A(SYS_accept4, server, P(room(128)), P(NEW(int, { 128 })), 0))
C(accept_null, ring(); A(SYS_accept4, server, 0, 0, 0))
static struct sockaddr_in port_name;
static void ring_port(void) { clients[turn] = socket(AF_INET, SOCK_STREAM, 0); if (connect(clients[turn], (void *)&port_name, sizeof port_name)) abort(); }
C(accept_in, ring_port(); A(SYS_accept4, port, P(room(128)), P(NEW(int, { 128 })), 0))
C(getsockopt, A(SYS_getsockopt, pairs[0], SOL_SOCKET, SO_SNDBUF, P(room(16)), P(NEW(int, { 16 }))))
C(getsockopt_cred, A(SYS_getsockopt, pairs[0], SOL_SOCKET, SO_PEERCRED, P(room(40)), P(NEW(int, { 40 }))))
C(getsockopt_linger, A(SYS_getsockopt, port, SOL_SOCKET, SO_LINGER, P(room(40)), P(NEW(int, { 40 }))))
C(getsockopt_tcp, A(SYS_getsockopt, port, IPPROTO_TCP, 11, P(room(400)), P(NEW(int, { 400 }))))
C(getsockopt_small, A(SYS_getsockopt, pairs[0], SOL_SOCKET, SO_SNDBUF, P(room(16)), P(NEW(int, { 2 }))))
C(recvfrom, feed(dgram[1]); A(SYS_recvfrom, dgram[0], P(room(100)), 100, 0, P(room(128)), P(NEW(int, { 128 }))))
C(recvfrom_null, feed(pairs[1]); A(SYS_recvfrom, pairs[0], P(room(100)), 100, 0, 0, 0))
C(recvfrom_peek, feed(pairs[1]); A(SYS_recvfrom, pairs[0], P(room(100)), 10, MSG_PEEK, 0, 0))
C(recvfrom_trunc, feed(dgram[1]); A(SYS_recvfrom, dgram[0], P(room(100)), 10, MSG_TRUNC, 0, 0))
C(recvfrom_again, A(SYS_recvfrom, pairs[0], P(room(100)), 100, MSG_DONTWAIT, 0, 0))
static int udp, udp_to;
static struct sockaddr_in udp_name;
static void feed_udp(void) { if (sendto(udp_to, "0123456789abcdef", 16, 0, (void *)&udp_name, sizeof udp_name) != 16) abort(); }
C(recvfrom_udp, feed_udp(); A(SYS_recvfrom, udp, P(room(100)), 100, 0, P(room(128)), P(NEW(int, { 128 }))))
C(recvfrom_udp_small, feed_udp(); A(SYS_recvfrom, udp, P(room(100)), 100, 0, P(room(128)), P(NEW(int, { 6 }))))
static struct msghdr *message(int n, size_t each, int name, int control)
{
    struct msghdr m = { 0 };
    m.msg_iov = vector(n, each), m.msg_iovlen = n;
    if (name) m.msg_name = room(name), m.msg_namelen = name;
    if (control) m.msg_control = room(control), m.msg_controllen = control;
    return filled(&m, sizeof m);
}
static void feed_rights(void)
{
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } u;
    struct iovec v = { "0123456789abcdef", 16 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.bytes, .msg_controllen = sizeof u.bytes };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(pairs[1], &m, 0) != 16) abort();
}
C(recvmsg, feed(pairs[1]); A(SYS_recvmsg, pairs[0], P(message(2, 20, 0, 0)), 0))
C(recvmsg_two, feed(pairs[1]); A(SYS_recvmsg, pairs[0], P(message(3, 7, 100, 0)), 0))
C(recvmsg_rights, feed_rights(); A(SYS_recvmsg, pairs[0], P(message(1, 60, 0, 100)), 0))
C(recvmsg_rights_cut, feed_rights(); A(SYS_recvmsg, pairs[0], P(message(1, 60, 0, 16)), 0))
C(recvmsg_udp, feed_udp(); A(SYS_recvmsg, udp, P(message(1, 60, 100, 100)), 0))
C(recvmsg_udp_cut, feed_udp(); A(SYS_recvmsg, udp, P(message(1, 6, 100, 100)), 0))
C(recvmsg_again, A(SYS_recvmsg, udp, P(message(1, 6, 100, 100)), MSG_DONTWAIT))
static struct mmsghdr *messages(int n)
{
    struct mmsghdr m[4] = { { { 0 }, 0 } };
    for (int i = 0; i < n; i++) m[i].msg_hdr = *message(1, 30, 64, i % 2 ? 40 : 0), m[i].msg_len = 9999;
    return filled(m, n * sizeof *m);
}
C(recvmmsg, feed_udp(); feed_udp(); A(SYS_recvmmsg, udp, P(messages(3)), 3, MSG_DONTWAIT, P(NEW(struct timespec, { 1, 0 }))))
static struct mmsghdr *sent(int n)
{
    struct mmsghdr m[4] = { { { 0 }, 0 } };
    for (int i = 0; i < n; i++) m[i].msg_hdr = *message(1, 30, 0, 0), m[i].msg_len = 9999;
    return filled(m, n * sizeof *m);
}
C(sendmmsg, A(SYS_sendmmsg, dgram[1], P(sent(2)), 2, 0))
C(sendmsg, A(SYS_sendmsg, dgram[1], P(message(2, 10, 0, 0)), 0))
C(write, lseek(fd, 0, SEEK_END); A(SYS_write, fd, P(room(10)), 10))
C(fionread, feed_pipe(); A(SYS_ioctl, pipes[0], FIONREAD, OUT(int)))
C(tcgets, A(SYS_ioctl, 0, TCGETS, OUT(struct termios)))
static int terminal;
C(tcgets_pty, A(SYS_ioctl, terminal, TCGETS, OUT(struct termios)))
C(winsize, A(SYS_ioctl, terminal, TIOCGWINSZ, OUT(struct winsize)))
C(ptyname, A(SYS_ioctl, terminal, TIOCGPTN, OUT(int)))
C(ptylock, A(SYS_ioctl, terminal, TIOCGPTLCK, OUT(int)))
C(ifconf, struct ifconf c = { .ifc_len = 400, .ifc_buf = room(400) }; A(SYS_ioctl, udp, SIOCGIFCONF, P(filled(&c, sizeof c))))
static struct ifreq loopback = { .ifr_name = "lo" };
C(ifflags, A(SYS_ioctl, udp, SIOCGIFFLAGS, P(filled(&loopback, sizeof loopback))))
C(ifindex, A(SYS_ioctl, udp, SIOCGIFINDEX, P(filled(&loopback, sizeof loopback))))
C(fsgetxattr, A(SYS_ioctl, fd, 0x801c581f, P(room(28))))
C(getflags, A(SYS_ioctl, fd, 0x80086601, P(room(8))))
C(fiemap, uint64_t f[4] = { 0, 1 << 20, 0, 0 }; A(SYS_ioctl, fd, 0xc020660b, P(filled(f, sizeof f))))
C(getlk, struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = 99 }; A(SYS_fcntl, fd, F_GETLK, P(filled(&l, sizeof l))))
static pid_t holder;
static void hold(void)
{
    if (holder) return;
    if (!(holder = fork())) {
        int f = open(file, O_RDWR);
        fcntl(f, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 6 });
        for (int i = 0; i < 100; i++) usleep(100000);
        _exit(0);
    }
    usleep(200000);
}
C(getlk_held, hold(); struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = 99 }; A(SYS_fcntl, fd, F_GETLK, P(filled(&l, sizeof l))))
C(ofd_getlk, struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; A(SYS_fcntl, fd, 36 /* F_OFD_GETLK */, P(filled(&l, sizeof l))))
C(getown_ex, A(SYS_fcntl, pipes[0], F_GETOWN_EX, P(room(8))))
C(rw_hint, A(SYS_fcntl, fd, 1035, P(room(8))))
static int source_to;
C(sendfile, A(SYS_sendfile, source_to, fd, P(NEW(long, { 3 })), 20))
C(copy_file_range, A(SYS_copy_file_range, fd, P(NEW(long long, { 3 })), source_to, P(NEW(long long, { 5 })), 20, 0))
C(splice, drain_pipe(); A(SYS_splice, fd, P(NEW(long long, { 3 })), pipes[1], 0, 20, 0))
C(tee, A(SYS_tee, pipes[0], pipes[1], 0, 0))
C(getrandom, A(SYS_getrandom, P(room(33)), 33, 0))
C(getcpu, A(SYS_getcpu, OUT(int), OUT(int), 0))
C(getgroups, A(SYS_getgroups, 64, P(room(256))))
C(getresuid, A(SYS_getresuid, OUT(int), OUT(int), OUT(int)))
C(getresgid, A(SYS_getresgid, OUT(int), OUT(int), OUT(int)))
C(capget, struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 }; A(SYS_capget, P(filled(&h, sizeof h)), P(room(24))))
C(capget_old, struct __user_cap_header_struct h = { 77, 0 }; A(SYS_capget, P(filled(&h, sizeof h)), P(room(24))))
C(sched_getaffinity, A(SYS_sched_getaffinity, 0, 128, P(room(128))))
C(sched_getparam, A(SYS_sched_getparam, 0, OUT(struct sched_param)))
C(sched_getattr, A(SYS_sched_getattr, 0, P(room(100)), 100, 0))
C(sched_rr, A(SYS_sched_rr_get_interval, 0, OUT(struct timespec)))
C(get_robust_list, A(SYS_get_robust_list, 0, OUT(long), OUT(long)))
C(mincore, A(SYS_mincore, P(arena), SIZE, P(room(16))))
C(get_mempolicy, A(SYS_get_mempolicy, OUT(int), P(room(16)), 128, 0, 0))
C(move_pages, A(SYS_move_pages, 0, 2, P(filled((void *[]){ arena, arena + 2048 }, 2 * sizeof(void *))), 0, P(room(8)), 0))
C(prctl_name, A(SYS_prctl, PR_GET_NAME, P(room(16))))
C(prctl_pdeath, A(SYS_prctl, PR_GET_PDEATHSIG, OUT(int)))
C(prctl_tsc, A(SYS_prctl, PR_GET_TSC, OUT(int)))
C(prctl_subreaper, A(SYS_prctl, PR_GET_CHILD_SUBREAPER, OUT(int)))
C(prctl_tid, A(SYS_prctl, PR_GET_TID_ADDRESS, OUT(long)))
#ifdef __x86_64__
C(arch_prctl, A(SYS_arch_prctl, ARCH_GET_FS, OUT(long)))
C(arch_prctl_gs, A(SYS_arch_prctl, ARCH_GET_GS, OUT(long)))
C(modify_ldt, A(SYS_modify_ldt, 0, P(room(64)), 64))
#endif
static int memory_id, semaphores, queue_id;
C(shmctl, A(SYS_shmctl, memory_id, IPC_STAT, OUT(struct shmid_ds)))
C(shm_info, A(SYS_shmctl, 0, 14 /* SHM_INFO */, P(room(64))))
C(ipc_info, A(SYS_shmctl, 0, IPC_INFO, P(room(128))))
C(semctl, A(SYS_semctl, semaphores, 0, IPC_STAT, OUT(struct semid_ds)))
C(sem_getall, A(SYS_semctl, semaphores, 0, GETALL, P(room(16))))
C(sem_info, A(SYS_semctl, 0, 0, 19 /* SEM_INFO */, P(room(64))))
C(msgctl, A(SYS_msgctl, queue_id, IPC_STAT, OUT(struct msqid_ds)))
C(msg_info, A(SYS_msgctl, 0, 12 /* MSG_INFO */, P(room(64))))
C(msgrcv, struct { long type; char text[20]; } m = { 5, "0123456789" }; msgsnd(queue_id, &m, 11, 0); A(SYS_msgrcv, queue_id, P(room(60)), 40, 0, 0))
C(msgrcv_none, A(SYS_msgrcv, queue_id, P(room(60)), 40, 0, IPC_NOWAIT))
C(process_vm_readv, struct iovec *to = vector(2, 20); A(SYS_process_vm_readv, getpid(), P(to), 2, P(NEW(struct iovec, { text, 33 })), 1, 0))
C(name_to_handle_at, unsigned h[2] = { 64, 0 }; char *at = room(100); memcpy(at, h, 8); given[givens].at = at, given[givens++].n = 8; A(SYS_name_to_handle_at, AT_FDCWD, P(string(file)), P(at), OUT(int), 0))
C(name_to_handle_small, unsigned h[2] = { 0, 0 }; char *at = room(100); memcpy(at, h, 8); given[givens].at = at, given[givens++].n = 8; A(SYS_name_to_handle_at, AT_FDCWD, P(string(file)), P(at), OUT(int), 0))
C(ustat, struct stat s; fstat(fd, &s); A(SYS_ustat, s.st_dev, P(room(32))))
C(sysfs, A(SYS_sysfs, 2, 0, P(room(64))))
C(syslog, A(SYS_syslog, 3, P(room(100)), 100))
static aio_context_t aio;
C(io_setup, A(SYS_io_setup, 4, P(NEW(long, { 0 }))))
static int submit(void)
{
    static struct iocb cb;
    static struct iocb *list[1] = { &cb };
    cb = (struct iocb){ .aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (long)room(100), .aio_nbytes = 40, .aio_offset = 2, .aio_data = 0x1234 };
    return syscall(SYS_io_submit, aio, 1, list) == 1;
}
C(io_getevents, A(SYS_io_getevents, aio, submit(), 2, P(room(64)), 0))
C(io_getevents_none, A(SYS_io_getevents, aio, 0, 2, P(room(64)), P(NEW(struct timespec, { 0, 1000 }))))
C(io_submit, struct iocb c = { .aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (long)room(100), .aio_nbytes = 40, .aio_offset = 2 };
  A(SYS_io_submit, aio, 1, P(filled((void *[]){ filled(&c, sizeof c) }, sizeof(void *)))))
static int mq;
C(mq_attr, A(SYS_mq_getsetattr, mq, 0, OUT(struct mq_attr)))
C(mq_receive, if (mq >= 0) mq_send(mq, "0123456789", 10, 6); A(SYS_mq_timedreceive, mq, P(room(64)), 64, OUT(int), P(NEW(struct timespec, { 0, 0 }))))
C(clone3, struct clone_args c = { .flags = CLONE_PIDFD | CLONE_PARENT_SETTID, .exit_signal = SIGCHLD }; c.pidfd = OUT(int), c.parent_tid = OUT(int);
  A(SYS_getppid, P(filled(&c, sizeof c)), sizeof c))
C(futex_wait, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAIT, 6, 0))
C(futex_wake_op, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAKE_OP, 1, 1, P(NEW(int, { 5 })), FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 5)))
C(futex_lock_pi, A(SYS_futex, P(NEW(int, { 0 })), FUTEX_LOCK_PI, 0, 0))
C(futex_trylock_pi, A(SYS_futex, P(NEW(int, { 0 })), FUTEX_TRYLOCK_PI, 0, 0))
C(futex_unlock_pi, A(SYS_futex, P(NEW(int, { (int)syscall(SYS_gettid) })), FUTEX_UNLOCK_PI, 0, 0))
C(futex_cmp_requeue_pi, A(SYS_futex, P(NEW(int, { 7 })), FUTEX_CMP_REQUEUE_PI, 1, 1, P(NEW(int, { 0 })), 7))
C(madvise_free, A(SYS_madvise, P(arena), 4096, MADV_NORMAL))
C(kcmp, A(SYS_kcmp, getpid(), getpid(), KCMP_FILE, fd, fd))
C(openat2, uint64_t how[3] = { O_RDONLY, 0, 0 }; A(437, AT_FDCWD, P(string(file)), P(filled(how, sizeof how)), sizeof how))
C(memfd, A(SYS_memfd_create, P(string("name")), 0))
C(landlock, A(444, 0, 0, 1))
C(quotactl, A(SYS_quotactl, 0x80000700, 0, 0, P(room(100))))
C(getpriority, A(SYS_getpriority, 0, 0))
C(keyctl, A(SYS_keyctl, 6, -3, P(room(100)), 100))
C(bad_address, A(SYS_read, fd, 16, 20); rewind_file())
C(bad_stat, A(SYS_fstat, fd, 16))
C(statmount, A(457, P(room(24)), P(room(300)), 300, 0))
C(perf_bad, A(SYS_perf_event_open, P(room(120)), 0, -1, -1, 0))
struct range { uint64_t offset, bytes; };
C(cachestat, A(451, fd, P(NEW(struct range, { 0, 4096 })), P(room(40)), 0))
C(seccomp_sizes, A(SYS_seccomp, 3, 0, P(room(8))))
C(seccomp_action, A(SYS_seccomp, 2, 0, P(NEW(int, { 0x7fff0000 }))))
C(membarrier, A(SYS_membarrier, 0, 0, 0))
C(pidfd_open, A(434, getpid(), 0))
C(select_many, A(SYS_select, 1024, P(one(pipes[0])), 0, P(one(pipes[0])), P(NEW(struct timeval, { 0, 1000 }))))
C(select_zero, A(SYS_select, 5, P(one(4)), 0, 0, P(NEW(struct timeval, { 0, 0 }))))
C(select_bad, A(SYS_select, 65, P(({ fd_set *f = one(3); FD_SET(60, f); f; })), 0, 0, P(NEW(struct timeval, { 0, 1000 }))))
C(select_cut, A(SYS_select, 64, 0, 0, 0, P(NEW(struct timeval, { 5, 0 }))); soon())
C(select_negative, A(SYS_select, -1, 0, 0, 0, P(NEW(struct timeval, { 5, 0 }))))
C(pselect_null, A(SYS_pselect6, 64, P(one(fd)), P(one(fd)), 0, 0, 0))
C(ppoll_cut, A(SYS_ppoll, P(NEW(struct pollfd, { pipes[0], POLLIN, 77 })), 1, P(NEW(struct timespec, { 5, 0 })), 0, 0); soon())
C(waitid_echild, A(SYS_waitid, P_PID, 1, OUT(siginfo_t), WEXITED, OUT(struct rusage)))
C(waitid_bad, A(SYS_waitid, 99, 1, OUT(siginfo_t), WEXITED, OUT(struct rusage)))
C(waitid_null, pid_t p = fork(); if (!p) _exit(3); A(SYS_waitid, P_PID, p, 0, WEXITED, OUT(struct rusage)))
C(wait4_echild, A(SYS_wait4, 1, OUT(int), 0, OUT(struct rusage)))
C(getsockopt_err, A(SYS_getsockopt, pairs[0], SOL_SOCKET, 9999, P(room(16)), P(NEW(int, { 16 }))))
C(getsockopt_type, A(SYS_getsockopt, port, SOL_SOCKET, SO_TYPE, P(room(16)), P(NEW(int, { 16 }))))
C(getsockopt_nodelay, A(SYS_getsockopt, port, IPPROTO_TCP, 1, P(room(16)), P(NEW(int, { 4 }))))
C(getsockopt_congestion, A(SYS_getsockopt, port, IPPROTO_TCP, 13, P(room(40)), P(NEW(int, { 40 }))))
C(getsockopt_timeo, A(SYS_getsockopt, udp, SOL_SOCKET, SO_RCVTIMEO, P(room(40)), P(NEW(int, { 40 }))))
C(getsockopt_ttl, A(SYS_getsockopt, udp, 0, 2, P(room(40)), P(NEW(int, { 40 }))))
C(accept_null_name, ring(); A(SYS_accept4, server, 0, P(NEW(int, { 9 })), 0))
C(getpeername_in, ring_port(); A(SYS_getpeername, clients[turn], P(room(128)), P(NEW(int, { 7 }))))
C(getsockname_bad, A(SYS_getsockname, fd, P(room(128)), P(NEW(int, { 128 }))))
C(futex_wake, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAKE, 1, 0))
C(futex_requeue, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_REQUEUE, 1, 1, P(NEW(int, { 5 }))))
C(futex_cmp_requeue, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_CMP_REQUEUE, 1, 1, P(NEW(int, { 5 })), 5))
C(futex_timeout, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAIT, 5, P(NEW(struct timespec, { 0, 1000 }))))
C(futex_private_op, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, 1, P(NEW(int, { 5 })), FUTEX_OP(FUTEX_OP_SET, 3, FUTEX_OP_CMP_EQ, 5)))
C(capget_v1, struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_1, 0 }; A(SYS_capget, P(filled(&h, sizeof h)), P(room(24))))
C(capget_null, struct __user_cap_header_struct h = { 77, 0 }; A(SYS_capget, P(filled(&h, sizeof h)), 0))
C(sched_getaffinity_8, A(SYS_sched_getaffinity, 0, 8, P(room(128))))
C(sched_getattr_48, A(SYS_sched_getattr, 0, P(room(100)), 48, 0))
C(sched_setattr_big, unsigned v[30] = { 120, 0, 0 }; v[28] = 9; A(SYS_sched_setattr, 0, P(filled(v, sizeof v)), 0))
C(getlk_set, struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = 1, .l_len = 3 }; A(SYS_fcntl, fd, F_GETLK, P(filled(&l, sizeof l))))
C(getsig, A(SYS_fcntl, pipes[0], 11))
C(process_vm_writev, struct iovec *to = vector(2, 20); A(SYS_process_vm_writev, getpid(), P(NEW(struct iovec, { text, 33 })), 1, P(to), 2, 0))
C(fiemap_some, uint64_t f[4] = { 0, 1 << 20, 0, 3 }; char *at = room(400); memcpy(at, f, 32); given[givens].at = at, given[givens++].n = 32; A(SYS_ioctl, fd, 0xc020660b, P(at)))
C(ifconf_null, struct ifconf c = { .ifc_len = 0 }; A(SYS_ioctl, udp, SIOCGIFCONF, P(filled(&c, sizeof c))))
C(ifaddr, A(SYS_ioctl, udp, SIOCGIFADDR, P(filled(&loopback, sizeof loopback))))
C(ifmtu, A(SYS_ioctl, udp, SIOCGIFMTU, P(filled(&loopback, sizeof loopback))))
C(ifhwaddr, A(SYS_ioctl, udp, SIOCGIFHWADDR, P(filled(&loopback, sizeof loopback))))
C(ifdst, A(SYS_ioctl, udp, SIOCGIFDSTADDR, P(filled(&loopback, sizeof loopback))))
C(ifbroadcast, A(SYS_ioctl, udp, SIOCGIFBRDADDR, P(filled(&loopback, sizeof loopback))))
C(ifmask, A(SYS_ioctl, udp, SIOCGIFNETMASK, P(filled(&loopback, sizeof loopback))))
C(ifmetric, A(SYS_ioctl, udp, SIOCGIFMETRIC, P(filled(&loopback, sizeof loopback))))
C(ifmap, A(SYS_ioctl, udp, SIOCGIFMAP, P(filled(&loopback, sizeof loopback))))
C(ifname, struct ifreq r = { .ifr_ifindex = 1 }; A(SYS_ioctl, udp, SIOCGIFNAME, P(filled(&r, sizeof r))))
C(getversion, A(SYS_ioctl, fd, 0x80087601, P(room(8))))
C(outq, A(SYS_ioctl, pairs[0], TIOCOUTQ, OUT(int)))
C(pgrp, A(SYS_ioctl, terminal, TIOCGPGRP, OUT(int)))
C(sid, A(SYS_ioctl, terminal, TIOCGSID, OUT(int)))
C(tcgeta, A(SYS_ioctl, terminal, TCGETA, P(room(32))))
C(inq_socket, A(SYS_ioctl, pairs[0], FIONREAD, OUT(int)))
C(ifqueue, A(SYS_ioctl, udp, 0x8942 /* SIOCGIFTXQLEN */, P(filled(&loopback, sizeof loopback))))
C(ifmulti, struct ifreq r = loopback; A(SYS_ioctl, udp, 0x8932 /* SIOCDELMULTI */, P(filled(&r, sizeof r))))
C(arp, char r[68] = { 2 }; A(SYS_ioctl, udp, 0x8954 /* SIOCGARP */, P(filled(r, sizeof r))))
C(qsize, A(SYS_ioctl, fd, 0x5460 /* FIOQSIZE */, P(room(8))))
C(fionread_file, rewind_file(); A(SYS_ioctl, fd, FIONREAD, OUT(int)))
C(tcgets2, A(SYS_ioctl, terminal, 0x802c542a /* TCGETS2 */, P(room(64))))
C(discipline, A(SYS_ioctl, terminal, 0x5424 /* TIOCGETD */, OUT(int)))
C(exclusive, A(SYS_ioctl, terminal, 0x80045440 /* TIOCGEXCL */, OUT(int)))
C(packet, A(SYS_ioctl, terminal, 0x80045438 /* TIOCGPKT */, OUT(int)))
static int random_fd;
C(entropy, A(SYS_ioctl, random_fd, 0x80045200, OUT(int)))
C(bmap_bad, A(SYS_ioctl, fd, 1, P(NEW(int, { 0 }))))
C(figetbsz, A(SYS_ioctl, fd, 2, OUT(int)))
C(getxattr_size, A(SYS_getxattr, P(string(file)), P(string("user.a")), 0, 0))
C(getxattr_small, A(SYS_getxattr, P(string(file)), P(string("user.a")), P(room(100)), 3))
C(getgroups_size, A(SYS_getgroups, 0, P(room(16))))
C(readlinkat_missing, A(SYS_readlinkat, AT_FDCWD, P(string("/nowhere")), P(room(300)), 9))
C(sigpending_4, A(SYS_rt_sigpending, P(room(8)), 4))
C(sigprocmask_set, A(SYS_rt_sigprocmask, SIG_BLOCK, P(NEW(uint64_t, { 0 })), P(room(8)), 8))
C(epoll_ctl, A(SYS_epoll_ctl, epoll, EPOLL_CTL_MOD, pipes[0], P(NEW(struct epoll_event, { EPOLLIN }))))
C(io_getevents_time, A(SYS_io_getevents, aio, submit(), 2, P(room(64)), P(NEW(struct timespec, { 1, 0 }))))
C(io_destroy_bad, A(SYS_io_destroy, 0))
C(mq_receive_null, if (mq >= 0) mq_send(mq, "0123456789", 10, 6); A(SYS_mq_timedreceive, mq, P(room(64)), 64, 0, P(NEW(struct timespec, { 0, 0 }))))
C(mq_setattr, struct mq_attr m = { .mq_flags = 0 }; A(SYS_mq_getsetattr, mq, P(filled(&m, sizeof m)), OUT(struct mq_attr)))
C(msg_stat, A(SYS_msgctl, queue_id, 11, OUT(struct msqid_ds)))
C(msg_ipc_info, A(SYS_msgctl, 0, 3, P(room(64))))
C(shm_stat, A(SYS_shmctl, 0, 13, OUT(struct shmid_ds)))
C(sem_stat, A(SYS_semctl, 0, 0, 18, OUT(struct semid_ds)))
C(msgrcv_cut, struct { long type; char text[20]; } m = { 5, "0123456789" }; msgsnd(queue_id, &m, 11, 0); A(SYS_msgrcv, queue_id, P(room(60)), 4, 0, MSG_NOERROR))
C(sendfile_null, A(SYS_sendfile, source_to, fd, 0, 5))
C(copy_range_one, A(SYS_copy_file_range, fd, P(NEW(long long, { 3 })), source_to, 0, 20, 0))
C(splice_in, feed_pipe(); A(SYS_splice, pipes[0], 0, source_to, P(NEW(long long, { 3 })), 16, 0))
C(getrandom_none, A(SYS_getrandom, P(room(33)), 0, 0))
C(getcpu_one, A(SYS_getcpu, OUT(int), 0, 0))
C(times_null, A(SYS_times, 0))
C(sysinfo_bad, A(SYS_sysinfo, 16))
C(mincore_bad, A(SYS_mincore, P(arena) + 1, SIZE, P(room(16))))
C(prctl_keepcaps, A(SYS_prctl, PR_GET_KEEPCAPS, P(room(16))))
C(prctl_auxv, A(SYS_prctl, 0x41555856, P(room(400)), 400))
C(prctl_mdwe, A(SYS_prctl, 66, 0, 0, 0, 0))
C(prlimit_null, A(SYS_prlimit64, 0, RLIMIT_CORE, 0, 0))
static int free_socket;
static void close_socket(void) { close(free_socket); }
C(bind, free_socket = socket(AF_INET, SOCK_DGRAM, 0); struct sockaddr_in n = { .sin_family = AF_INET }; A(SYS_bind, free_socket, P(filled(&n, sizeof n)), sizeof n))
C(bind_6, free_socket = socket(AF_INET6, SOCK_DGRAM, 0); struct sockaddr_in6 n = { .sin6_family = AF_INET6 }; A(SYS_bind, free_socket, P(filled(&n, sizeof n)), sizeof n))
C(connect, free_socket = socket(AF_UNIX, SOCK_DGRAM, 0); struct sockaddr_un n = { AF_UNIX, "/nowhere" }; A(SYS_connect, free_socket, P(filled(&n, 20)), 20))
C(connect_abstract, free_socket = socket(AF_UNIX, SOCK_DGRAM, 0); struct sockaddr_un n = { AF_UNIX, "\0name" }; A(SYS_connect, free_socket, P(filled(&n, 7)), 7))
C(sendto, A(SYS_sendto, udp_to, P(filled("01234", 5)), 5, 0, P(filled(&udp_name, sizeof udp_name)), sizeof udp_name))
C(setsockopt, A(SYS_setsockopt, udp, SOL_SOCKET, SO_RCVBUF, P(NEW(int, { 5000 })), 4))
C(setsockopt_long, A(SYS_setsockopt, udp, SOL_SOCKET, SO_RCVBUF, P(NEW(long, { 5000 })), 8))
C(setsockopt_linger, A(SYS_setsockopt, port, SOL_SOCKET, SO_LINGER, P(NEW(struct linger, { 0, 0 })), 8))
C(setsockopt_timeo, A(SYS_setsockopt, udp, SOL_SOCKET, SO_RCVTIMEO, P(NEW(struct timeval, { 0, 0 })), sizeof(struct timeval)))
C(epoll_mod, A(SYS_epoll_ctl, epoll, EPOLL_CTL_MOD, pipes[0], P(NEW(struct epoll_event, { EPOLLIN }))))
C(epoll_del, epoll_ctl(epoll, EPOLL_CTL_MOD, pipes[0], &(struct epoll_event){ EPOLLIN }); A(SYS_epoll_ctl, epoll, EPOLL_CTL_DEL, 99, P(NEW(struct epoll_event, { EPOLLIN }))))
C(in_timerfd_settime, A(SYS_timerfd_settime, timer, 0, P(NEW(struct itimerspec, { { 0, 1000 }, { 0, 1000 } })), 0))
C(in_timer_settime, A(SYS_timer_settime, P(posix_timer), 0, P(NEW(struct itimerspec, { { 0, 0 }, { 100, 0 } })), 0))
C(in_timer_create, A(SYS_timer_create, CLOCK_MONOTONIC, P(filled(&no_signal, sizeof no_signal)), OUT(int)))
C(in_setitimer, A(SYS_setitimer, ITIMER_REAL, P(NEW(struct itimerval, { { 0, 0 }, { 0, 0 } })), 0))
C(utimensat, struct timespec t[2] = { { 5, 5 }, { 6, 6 } }; A(SYS_utimensat, AT_FDCWD, P(string(file)), P(filled(t, sizeof t)), 0))
C(utimensat_null, A(SYS_utimensat, fd, 0, 0, 0))
C(in_sigaction, A(SYS_rt_sigaction, SIGWINCH, P(filled(&ignoring, sizeof ignoring)), 0, 8))
C(in_sigprocmask, A(SYS_rt_sigprocmask, SIG_BLOCK, P(NEW(uint64_t, { 0 })), 0, 8))
C(in_sigtimedwait, A(SYS_rt_sigtimedwait, P(NEW(uint64_t, { 1 })), 0, P(NEW(struct timespec, { 0, 0 })), 8))
C(in_signalfd, A(SYS_signalfd4, signals, P(NEW(uint64_t, { mask_of(SIGUSR1) })), 8, 0))
C(in_sigaltstack, stack_t k = { 0 }; k.ss_flags = SS_DISABLE; A(SYS_sigaltstack, P(filled(&k, sizeof k)), 0))
C(sigqueueinfo, siginfo_t i = { .si_code = SI_QUEUE }; i.si_signo = SIGWINCH; A(SYS_rt_sigqueueinfo, getpid(), SIGWINCH, P(filled(&i, sizeof i))))
C(semop, struct sembuf b[2] = { { 0, 1, 0 }, { 1, 1, 0 } }; A(SYS_semop, semaphores, P(filled(b, sizeof b)), 2))
C(semtimedop, struct sembuf b[1] = { { 0, 1, 0 } }; A(SYS_semtimedop, semaphores, P(filled(b, sizeof b)), 1, P(NEW(struct timespec, { 1, 0 }))))
C(sem_setall, unsigned short v[3] = { 0 }; A(SYS_semctl, semaphores, 0, SETALL, P(filled(v, sizeof v))))
C(sem_set, struct semid_ds d; semctl(semaphores, 0, IPC_STAT, &d); A(SYS_semctl, semaphores, 0, IPC_SET, P(filled(&d, sizeof d))))
C(msgsnd, struct { long type; char text[8]; } m = { 5, "0123" }; A(SYS_msgsnd, queue_id, P(filled(&m, 13)), 5, IPC_NOWAIT))
C(msg_set, struct msqid_ds d; msgctl(queue_id, IPC_STAT, &d); A(SYS_msgctl, queue_id, IPC_SET, P(filled(&d, sizeof d))))
C(tgsigqueueinfo, siginfo_t i = { .si_code = SI_QUEUE }; i.si_signo = SIGWINCH; A(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGWINCH, P(filled(&i, sizeof i))))
C(capset_v1, struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_1, 0 }; struct __user_cap_data_struct d[2]; capget(&h, d); A(SYS_capset, P(filled(&h, sizeof h)), P(filled(d, sizeof *d))))
C(shm_set, struct shmid_ds d; shmctl(memory_id, IPC_STAT, &d); A(SYS_shmctl, memory_id, IPC_SET, P(filled(&d, sizeof d))))
C(set_name, A(SYS_prctl, PR_SET_NAME, P(string("kernel"))))
C(set_name_long, A(SYS_prctl, PR_SET_NAME, P(string("a name that is too long for it"))))
C(sched_setaffinity, unsigned long m[2] = { 3, 0 }; A(SYS_sched_setaffinity, 0, sizeof m, P(filled(m, sizeof m))))
C(sched_setaffinity_5, unsigned long m[2] = { 3, 0 }; A(SYS_sched_setaffinity, 0, 5, P(filled(m, sizeof m))))
C(sched_setparam, A(SYS_sched_setparam, 0, P(NEW(struct sched_param, { 0 }))))
C(sched_setscheduler, A(SYS_sched_setscheduler, 0, 0, P(NEW(struct sched_param, { 0 }))))
C(sched_setattr, unsigned v[14] = { 56 }; A(SYS_sched_setattr, 0, P(filled(v, sizeof v)), 0))
C(sched_setattr_48, unsigned v[12] = { 48 }; A(SYS_sched_setattr, 0, P(filled(v, sizeof v)), 0))
C(tcsets, struct termios t = { 0 }; A(SYS_ioctl, terminal, TCSETS, P(filled(&t, sizeof t))))
C(swinsize, A(SYS_ioctl, terminal, TIOCSWINSZ, P(NEW(struct winsize, { 9, 9 }))))
C(unlock_pty, A(SYS_ioctl, terminal, TIOCSPTLCK, P(NEW(int, { 0 }))))
C(fionbio, A(SYS_ioctl, event, FIONBIO, P(NEW(int, { 1 }))))
C(fioasync, A(SYS_ioctl, event, FIOASYNC, P(NEW(int, { 0 }))))
C(setflags, A(SYS_ioctl, source_to, 0x40086602, P(NEW(int, { 0x80000 }))))
C(tcflush, A(SYS_ioctl, terminal, TCFLSH, 0))
C(in_ifindex, A(SYS_ioctl, udp, SIOCGIFINDEX, P(filled(&loopback, sizeof loopback))))
C(setlk, struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET }; A(SYS_fcntl, source_to, F_SETLK, P(filled(&l, sizeof l))))
C(in_getlk, struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; A(SYS_fcntl, source_to, F_GETLK, P(filled(&l, sizeof l))))
C(in_ofd_getlk, struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; A(SYS_fcntl, source_to, 36 /* F_OFD_GETLK */, P(filled(&l, sizeof l))))
C(ofd_setlk, struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET }; A(SYS_fcntl, source_to, 37, P(filled(&l, sizeof l))))
C(setown_ex, A(SYS_fcntl, pipes[0], F_SETOWN_EX, P(NEW(struct f_owner_ex, { F_OWNER_PID, 0 }))))
C(setrlimit, struct rlimit l; getrlimit(RLIMIT_CORE, &l); A(SYS_setrlimit, RLIMIT_CORE, P(filled(&l, sizeof l))))
C(in_prlimit, A(SYS_prlimit64, 0, RLIMIT_CORE, P(NEW(struct rlimit64, { 0, 0 })), 0))
C(in_nanosleep, A(SYS_nanosleep, P(NEW(struct timespec, { 0, 1000 })), 0))
C(in_clock_nanosleep, A(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, P(NEW(struct timespec, { 0, 1000 })), 0))
C(clock_settime_bad, A(SYS_clock_settime, CLOCK_MONOTONIC, P(NEW(struct timespec, { 0, 1000 }))))
C(ppoll_mask, A(SYS_ppoll, 0, 0, P(NEW(struct timespec, { 0, 0 })), P(NEW(uint64_t, { 0 })), 8))
C(pselect_mask, long m[2] = { P(NEW(uint64_t, { 0 })), 8 }; A(SYS_pselect6, 0, 0, 0, 0, P(NEW(struct timespec, { 0, 0 })), P(filled(m, sizeof m))))
C(epoll_mask, A(SYS_epoll_pwait, epoll, P(room(200)), 5, 0, P(NEW(uint64_t, { 0 })), 8))
C(capset, struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 }; struct __user_cap_data_struct d[2]; capget(&h, d); A(SYS_capset, P(filled(&h, sizeof h)), P(filled(d, sizeof d))))
C(setgroups, int g[3]; int n = getgroups(3, (gid_t *)g); A(SYS_setgroups, n > 0 ? n : 0, P(filled(g, sizeof g))))
C(setxattr, A(SYS_setxattr, P(string(file)), P(string("user.a")), P(filled("value", 5)), 5, 0))
C(fsetxattr, A(SYS_fsetxattr, fd, P(string("user.a")), P(filled("value", 5)), 5, 0))
C(removexattr, A(SYS_removexattr, P(string(file)), P(string("user.b"))))
C(open, A(SYS_openat, AT_FDCWD, P(string(file)), O_RDONLY))
C(renameat, A(SYS_renameat2, AT_FDCWD, P(string("/nowhere/a")), AT_FDCWD, P(string("/nowhere/b")), 0))
C(linkat, A(SYS_linkat, AT_FDCWD, P(string("/nowhere/a")), AT_FDCWD, P(string("/nowhere/b")), 0))
C(symlinkat, A(SYS_symlinkat, P(string("x")), AT_FDCWD, P(string("/nowhere/b"))))
C(mkdirat, A(SYS_mkdirat, AT_FDCWD, P(string("/nowhere/b")), 0))
C(unlinkat, A(SYS_unlinkat, AT_FDCWD, P(string("/nowhere/b")), 0))
C(fchmodat, A(SYS_fchmodat, AT_FDCWD, P(string("/nowhere/b")), 0))
C(fchownat, A(SYS_fchownat, AT_FDCWD, P(string("/nowhere/b")), 0, 0, 0))
C(faccessat, A(SYS_faccessat, AT_FDCWD, P(string("/nowhere/b")), 0))
C(chdir, A(SYS_chdir, P(string("/nowhere/b"))))
C(truncate, A(SYS_truncate, P(string("/nowhere/b")), 0))
C(in_statfs, A(SYS_statfs, P(string("/nowhere/b")), OUT(struct statfs)))
C(in_futex, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAIT, 5, P(NEW(struct timespec, { 0, 1000 }))))
C(in_futex_bitset, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAIT_BITSET, 5, P(NEW(struct timespec, { 0, 1000 })), 0, -1))
C(in_futex_other, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAIT, 6, P(NEW(struct timespec, { 0, 1000 }))))
C(in_futex_wake, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_WAKE, 1, P(NEW(struct timespec, { 0, 1000 }))))
C(in_futex_requeue, A(SYS_futex, P(NEW(int, { 5 })), FUTEX_CMP_REQUEUE, 1, 1, P(NEW(int, { 5 })), 5))
C(mq_send, A(SYS_mq_timedsend, mq, P(filled("01234", 5)), 5, 1, P(NEW(struct timespec, { 0, 0 }))))
C(memfd_name, A(SYS_memfd_create, P(string("name")), 0))
C(inotify_add, A(SYS_inotify_add_watch, inotify, P(string(folder)), IN_OPEN))
C(in_io_getevents, A(SYS_io_getevents, aio, 0, 2, P(room(64)), P(NEW(struct timespec, { 0, 1000 }))))
C(add_key, A(SYS_add_key, P(string("user")), P(string("name")), P(filled("value", 5)), 5, -3))
C(mount_bad, A(SYS_mount, P(string("a")), P(string("/nowhere")), P(string("none")), 0, 0))
C(set_mempolicy, unsigned long m[1] = { 1 }; A(SYS_set_mempolicy, 0, 0, 0))
C(writev, struct iovec v[2] = { { "ab", 2 }, { "cd", 2 } }; A(SYS_writev, source_to, P(filled(v, sizeof v)), 2))
C(in_write, A(SYS_write, source_to, P(filled("0123456789", 10)), 10))
C(settimeofday_bad, A(SYS_settimeofday, P(NEW(struct timeval, { -1, -1 })), 0))
C(in_sendfile, A(SYS_sendfile, source_to, fd, P(NEW(long, { 3 })), 0))
C(bpf_bad, long b[2] = { 0, 0 }; A(SYS_bpf, 99, P(filled(b, sizeof b)), 16))
C(setdomainname_bad, A(SYS_setdomainname, P(filled("name", 4)), -1))
C(rseq, A(334, P(room(32)), 32, 0, 0x53053053))

/* What only some instruction sets have: numbers of 64 bits in two registers, times of 64 bits. */
static struct { int64_t seconds, nanoseconds; } wide_time = { 0, 1000 };
static long wide(void) { return P(filled(&wide_time, sizeof wide_time)); }
C(stat64, A(SYS_stat64, P(string(file)), P(room(104))))
C(lstat64, A(SYS_lstat64, P(string(other)), P(room(104))))
C(fstat64, A(SYS_fstat64, fd, P(room(104))))
C(statfs64, A(SYS_statfs64, P(string(file)), 88, P(room(88))))
C(fstatfs64, A(SYS_fstatfs64, fd, 84, P(room(88))))
C(llseek, A(SYS__llseek, fd, 0, 5, P(room(8)), SEEK_SET))
C(ugetrlimit, A(SYS_ugetrlimit, RLIMIT_NOFILE, OUT(struct rlimit)))
static struct { short type, whence; int64_t start, length; int pid; } wide_lock = { F_WRLCK, SEEK_SET, 0, 0, 99 };
C(getlk64, A(SYS_fcntl64, fd, 12, P(filled(&wide_lock, sizeof wide_lock))))
C(setlk64, wide_lock.type = F_UNLCK; A(SYS_fcntl64, source_to, 13, P(filled(&wide_lock, sizeof wide_lock))); wide_lock.type = F_WRLCK)
C(sendfile64, A(SYS_sendfile64, source_to, fd, P(NEW(int64_t, { 3 })), 20))
C(recv, feed(pairs[1]); A(SYS_recv, pairs[0], P(room(100)), 100, 0))
C(send, A(SYS_send, pairs[1], P(filled("01234", 5)), 5, 0))
C(getgroups32, A(SYS_getgroups32, 64, P(room(256))))
C(getresuid32, A(SYS_getresuid32, OUT(int), OUT(int), OUT(int)))
C(old_sigprocmask, A(SYS_sigprocmask, SIG_BLOCK, P(NEW(long, { 0 })), OUT(long)))
C(old_sigpending, A(SYS_sigpending, OUT(long)))
C(clock_gettime64, A(SYS_clock_gettime64, CLOCK_MONOTONIC, P(room(16))))
C(clock_getres64, A(SYS_clock_getres_time64, CLOCK_MONOTONIC, P(room(16))))
C(clock_nanosleep64, A(SYS_clock_nanosleep_time64, CLOCK_MONOTONIC, 0, wide(), P(room(16))))
C(ppoll64, A(SYS_ppoll_time64, P(NEW(struct pollfd, { pipes[0], POLLIN, 77 })), 1, wide(), 0, 0))
C(pselect64, A(SYS_pselect6_time64, 70, P(one(pipes[0])), 0, P(one(pipes[0])), wide(), 0))
C(futex64, A(SYS_futex_time64, P(NEW(int, { 5 })), FUTEX_WAIT, 5, wide()))
C(timer_gettime64, A(SYS_timer_gettime64, P(posix_timer), P(room(32))))
C(timerfd_gettime64, A(SYS_timerfd_gettime64, timer, P(room(32))))
C(timerfd_settime64, int64_t t[4] = { 0, 1000, 0, 1000 }; A(SYS_timerfd_settime64, timer, 0, P(filled(t, sizeof t)), P(room(32))))
C(timer_settime64, int64_t t[4] = { 0, 0, 100, 0 }; A(SYS_timer_settime64, P(posix_timer), 0, P(filled(t, sizeof t)), P(room(32))))
C(recvmmsg64, feed_udp(); A(SYS_recvmmsg_time64, udp, P(messages(2)), 2, MSG_DONTWAIT, wide()))
C(utimensat64, int64_t t[4] = { 5, 5, 6, 6 }; A(SYS_utimensat_time64, AT_FDCWD, P(string(file)), P(filled(t, sizeof t)), 0))
C(rt_sigtimedwait64, queue(SIGUSR1); A(SYS_rt_sigtimedwait_time64, P(NEW(uint64_t, { mask_of(SIGUSR1) })), OUT(siginfo_t), wide(), 8))
C(sched_rr64, A(SYS_sched_rr_get_interval_time64, 0, P(room(16))))
C(semtimedop64, struct sembuf b[1] = { { 0, 1, 0 } }; A(SYS_semtimedop_time64, semaphores, P(filled(b, sizeof b)), 1, wide()))
C(clock_adjtime64, A(SYS_clock_adjtime64, CLOCK_REALTIME, P(filled((char[208]){ 0 }, 208))))

#define EACH(X) X(read) X(read_short) X(read_zero) X(pread) X(readv) X(readv_short) X(preadv) X(preadv2) X(fstat) \
    X(newfstatat) X(statx) X(statx_empty) X(statfs) X(fstatfs) X(stat_missing) X(getdents64) X(readlinkat) X(getcwd) \
    X(getcwd_small) X(getxattr) X(fgetxattr) X(lgetxattr) X(listxattr) X(flistxattr) X(llistxattr) X(uname) X(sysinfo) \
    X(times) X(getrusage) X(getrlimit) X(prlimit) X(prlimit_other) X(clock_gettime) X(clock_gettime_cpu) \
    X(clock_getres) X(clock_getres_null) X(clock_bad) X(gettimeofday) X(nanosleep) X(nanosleep_cut) \
    X(clock_nanosleep_cut) X(clock_nanosleep_until) X(getitimer) X(setitimer) X(timer_create) X(timer_gettime) \
    X(timer_settime) X(timerfd_settime) X(timerfd_gettime) X(timerfd_read) X(eventfd_read) X(adjtimex) \
    X(clock_adjtime) X(rt_sigaction) X(rt_sigaction_set) X(rt_sigprocmask) X(rt_sigpending) X(sigaltstack) \
    X(rt_sigtimedwait) X(rt_sigtimedwait_none) X(signalfd_read) X(wait4) X(wait4_none) X(waitid) X(waitid_nohang) \
    X(ppoll) X(epoll_pwait_none) X(inotify_read) X(getsockname) X(getsockname_small) X(getsockname_in) X(getpeername) \
    X(getsockopt) X(getsockopt_cred) X(getsockopt_linger) X(getsockopt_tcp) X(getsockopt_small) X(recvfrom_again) \
    X(recvfrom_udp) X(recvfrom_udp_small) X(recvmsg_udp) X(recvmsg_udp_cut) X(recvmsg_again) X(recvmmsg) X(sendmmsg) \
    X(sendmsg) X(write) X(tcgets) X(tcgets_pty) X(winsize) X(ptyname) X(ptylock) X(ifconf) X(ifflags) X(ifindex) \
    X(fsgetxattr) X(getflags) X(fiemap) X(getlk) X(getlk_held) X(ofd_getlk) X(getown_ex) X(rw_hint) X(sendfile) \
    X(copy_file_range) X(splice) X(tee) X(getrandom) X(getcpu) X(getgroups) X(getresuid) X(getresgid) X(capget) \
    X(capget_old) X(sched_getaffinity) X(sched_getparam) X(sched_getattr) X(sched_rr) X(get_robust_list) X(mincore) \
    X(get_mempolicy) X(move_pages) X(prctl_name) X(prctl_pdeath) X(prctl_tsc) X(prctl_subreaper) X(prctl_tid) \
    X(shmctl) X(shm_info) X(ipc_info) X(semctl) X(sem_getall) X(sem_info) X(msgctl) X(msg_info) X(msgrcv) \
    X(msgrcv_none) X(process_vm_readv) X(name_to_handle_at) X(name_to_handle_small) X(syslog) X(io_setup) \
    X(io_getevents) X(io_getevents_none) X(io_submit) X(mq_attr) X(mq_receive) X(clone3) X(futex_wait) \
    X(futex_wake_op) X(futex_lock_pi) X(futex_trylock_pi) X(futex_unlock_pi) X(futex_cmp_requeue_pi) X(madvise_free) \
    X(kcmp) X(landlock) X(quotactl) X(getpriority) X(keyctl) X(bad_address) X(bad_stat) X(statmount) X(perf_bad) \
    X(cachestat) X(seccomp_sizes) X(seccomp_action) X(membarrier) X(rseq)
#define MORE(X) X(select_many) X(select_zero) X(select_bad) X(select_cut) X(select_negative) X(pselect_null) \
    X(ppoll_cut) X(waitid_echild) X(waitid_bad) X(waitid_null) X(wait4_echild) X(getsockopt_err) X(getsockopt_type) \
    X(getsockopt_nodelay) X(getsockopt_congestion) X(getsockopt_timeo) X(getsockopt_ttl) X(accept_null_name) \
    X(getpeername_in) X(getsockname_bad) X(futex_wake) X(futex_requeue) X(futex_cmp_requeue) X(futex_timeout) \
    X(futex_private_op) X(capget_v1) X(capget_null) X(sched_getaffinity_8) X(sched_getattr_48) X(sched_setattr_big) \
    X(getlk_set) X(getsig) X(process_vm_writev) X(fiemap_some) X(ifconf_null) X(ifaddr) X(ifmtu) X(ifhwaddr) X(ifname) \
    X(ifdst) X(ifbroadcast) X(ifmask) X(ifmetric) X(ifmap) \
    X(getversion) X(outq) X(pgrp) X(sid) X(tcgeta) X(inq_socket) X(entropy) X(bmap_bad) X(ifqueue) X(ifmulti) X(arp) \
    X(qsize) X(fionread_file) X(tcgets2) X(discipline) X(exclusive) X(packet) X(figetbsz) X(getxattr_size) \
    X(getxattr_small) X(getgroups_size) X(readlinkat_missing) X(sigpending_4) X(sigprocmask_set) X(epoll_ctl) \
    X(io_getevents_time) X(io_destroy_bad) X(mq_receive_null) X(mq_setattr) X(msg_stat) X(msg_ipc_info) X(shm_stat) \
    X(sem_stat) X(msgrcv_cut) X(sendfile_null) X(copy_range_one) X(splice_in) X(getrandom_none) X(getcpu_one) \
    X(times_null) X(sysinfo_bad) X(mincore_bad) X(prctl_keepcaps) X(prctl_auxv) X(prctl_mdwe) X(prlimit_null)
#define READING(X) X(bind) X(bind_6) X(connect) X(connect_abstract) X(sendto) X(setsockopt) X(setsockopt_long) \
    X(setsockopt_linger) X(setsockopt_timeo) X(epoll_mod) X(epoll_del) X(in_timerfd_settime) X(in_timer_settime) \
    X(in_timer_create) X(in_setitimer) X(utimensat) X(utimensat_null) X(in_sigaction) X(in_sigprocmask) \
    X(in_sigtimedwait) X(in_signalfd) X(in_sigaltstack) X(sigqueueinfo) X(semop) X(semtimedop) X(sem_setall) \
    X(sem_set) X(msgsnd) X(msg_set) X(tgsigqueueinfo) X(capset_v1) X(shm_set) X(set_name) X(set_name_long) X(sched_setaffinity) X(sched_setaffinity_5) \
    X(sched_setparam) X(sched_setscheduler) X(sched_setattr) X(sched_setattr_48) X(tcsets) X(swinsize) X(unlock_pty) \
    X(fionbio) X(fioasync) X(setflags) X(tcflush) X(in_ifindex) X(setlk) X(ofd_setlk) X(in_getlk) X(in_ofd_getlk) X(setown_ex) X(setrlimit) \
    X(in_prlimit) X(in_nanosleep) X(in_clock_nanosleep) X(clock_settime_bad) X(ppoll_mask) X(pselect_mask) \
    X(epoll_mask) X(capset) X(setgroups) X(setxattr) X(fsetxattr) X(removexattr) X(open) X(renameat) X(linkat) \
    X(symlinkat) X(mkdirat) X(unlinkat) X(fchmodat) X(fchownat) X(faccessat) X(chdir) X(truncate) X(in_statfs) \
    X(in_futex) X(in_futex_bitset) X(in_futex_other) X(in_futex_wake) X(in_futex_requeue) X(mq_send) X(memfd_name) \
    X(inotify_add) X(in_io_getevents) X(add_key) X(mount_bad) X(writev) X(in_write) X(settimeofday_bad) X(in_sendfile) \
    X(bpf_bad) X(setdomainname_bad)
#define SOME(X) X(stat64) X(lstat64) X(fstat64) X(statfs64) X(fstatfs64) X(llseek) X(ugetrlimit) X(getlk64) X(sendfile64) \
    X(getgroups32) X(getresuid32) X(old_sigprocmask) X(old_sigpending) X(clock_gettime64) X(clock_getres64) \
    X(clock_nanosleep64) X(ppoll64) X(pselect64) X(futex64) X(timer_gettime64) X(timerfd_gettime64) \
    X(timerfd_settime64) X(timer_settime64) X(recvmmsg64) X(utimensat64) X(rt_sigtimedwait64) X(sched_rr64) \
    X(semtimedop64) X(clock_adjtime64)
#define SOME_READING(X) X(setlk64) X(send)
#define WITH_PIPE(X) X(read_pipe) X(ppoll_ready) X(pselect6) X(epoll_pwait) X(fionread)
#define WITH_PAIRS(X) X(recvfrom) X(recvfrom_null) X(recvfrom_peek) X(recvfrom_trunc) X(recvmsg) X(recvmsg_two) \
    X(recvmsg_rights) X(recvmsg_rights_cut)
#define CLOSING(X) X(accept4) X(accept_null) X(accept_in) X(openat2) X(memfd) X(pidfd_open)
#define RUN(n) with(#n, p_##n, NULL, cases++);
#define RUN_PIPE(n) with(#n, p_##n, drain_pipe, cases++);
#define RUN_PAIRS(n) with(#n, p_##n, drain_pairs, cases++);
#define RUN_CLOSE(n) with(#n, p_##n, close_result, cases++);
#define RUN_MADE(n) with(#n, p_##n, close_made, cases++);

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    snprintf(folder, sizeof folder, "%s", argv[1]);
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(other, sizeof other, "%s/link", folder);
    arena = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    before = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    text = end = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end += sprintf(end, "arena %lx %x                     \n", (long)arena, SIZE);
    fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 50; i++) if (write(fd, "some words\n", 11) != 11) return 77;
    symlink(file, other);
    setxattr(file, "user.a", "value", 5, 0);
    directory = open(folder, O_RDONLY | O_DIRECTORY);
    snprintf(server_name.sun_path, sizeof server_name.sun_path, "%s/socket", folder);
    server_name.sun_family = AF_UNIX;
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, (void *)&server_name, sizeof server_name) || listen(server, 20)) return 77;
    socklen_t length = sizeof port_name;
    port_name = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    port = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(port, (void *)&port_name, sizeof port_name) || listen(port, 20) || getsockname(port, (void *)&port_name, &length)) return 77;
    udp_name = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    udp = socket(AF_INET, SOCK_DGRAM, 0), udp_to = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(udp, (void *)&udp_name, sizeof udp_name) || getsockname(udp, (void *)&udp_name, &length)) return 77;
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pairs) || socketpair(AF_UNIX, SOCK_DGRAM, 0, dgram)) return 77;
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &(struct epoll_event){ EPOLLIN, { .u64 = 0x123456789abcdef } });
    event = eventfd(0, EFD_NONBLOCK);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    inotify = inotify_init1(IN_NONBLOCK);
    inotify_add_watch(inotify, folder, IN_OPEN);
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    signals = signalfd(-1, &set, SFD_NONBLOCK);
    struct sigaction act = { .sa_handler = nothing };
    sigaction(SIGALRM, &act, NULL);
    struct sigevent none = { .sigev_notify = SIGEV_NONE };
    int kernel_timer = -1;
    syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &kernel_timer);
    posix_timer = (timer_t)(long)kernel_timer;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    source_to = open("/dev/null", O_WRONLY);
    snprintf(other, sizeof other, "%s/copy", folder);
    source_to = open(other, O_RDWR | O_CREAT, 0644);
    snprintf(other, sizeof other, "%s/link", folder);
    memory_id = shmget(IPC_PRIVATE, 4096, 0600), semaphores = semget(IPC_PRIVATE, 3, 0600), queue_id = msgget(IPC_PRIVATE, 0600);
    syscall(SYS_io_setup, 8, &aio);
    struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 64 };
    mq_unlink("/addfg-kernel");
    mq = mq_open("/addfg-kernel", O_RDWR | O_CREAT, 0600, &attr);
    if (!(sleeper = fork())) { for (int i = 0; i < 50; i++) usleep(100000); _exit(0); }
    if (argc > 3) left_out = argv + 3;
    int reads = argc > 2 && !strcmp(argv[2], "reads");
    if (reads) {
        unsigned char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        border = pages + 2 * 4096;
        munmap(border, 4096);
        with = measure;
    }
    READING(RUN)
    if (reads) goto out;
    EACH(RUN)
    random_fd = open("/dev/urandom", O_RDONLY);
    drain_pairs();
    MORE(RUN)
    drain_pairs(), drain_pipe();
    WITH_PIPE(RUN_PIPE)
    WITH_PAIRS(RUN_PAIRS)
    CLOSING(RUN_CLOSE)
    RUN_MADE(pipe2) RUN_MADE(socketpair)
    RUN(stat) RUN(lstat) RUN(getdents) RUN(readlink) RUN(time) RUN(ustat) RUN(sysfs) RUN(select_few) RUN(select_none) RUN(poll_none)
    RUN_MADE(pipe) RUN_PIPE(poll) RUN_PIPE(poll_three) RUN_PIPE(select) RUN_PIPE(epoll_wait) RUN_CLOSE(accept)
#ifdef __x86_64__
    RUN(arch_prctl) RUN(arch_prctl_gs) RUN(modify_ldt)
#endif
    RUN_PIPE(epoll_pwait2)
    if (sizeof(long) == 4) {
        SOME(RUN)
        RUN_PAIRS(recv)
    }
out:
    if (sizeof(long) == 4) { SOME_READING(RUN) }
    if (holder) kill(holder, SIGKILL);
    kill(sleeper, SIGKILL);
    shmctl(memory_id, IPC_RMID, NULL), semctl(semaphores, 0, IPC_RMID), msgctl(queue_id, IPC_RMID, NULL);
    mq_unlink("/addfg-kernel");
    for (char *p = text; p < end;) { ssize_t n = write(1, p, end - p); if (n <= 0) return 1; p += n; }
    return 0;
}
