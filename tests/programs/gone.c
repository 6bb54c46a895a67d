/* gone FOLDER: memory that the kernel takes away, gives anew or does not write: each function `take_...` reads 100 bytes, of which those that are not
 * 0 are of a function `fill_...`. How many that are is printed, by the name. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BYTES 100
typedef unsigned char byte;

#define FILL(name) __attribute__((noinline)) static void fill_##name(volatile byte *p) \
    { for (int i = 0; i < BYTES; i++) p[i] = 1; }
#define TAKE(name) __attribute__((noinline)) static void take_##name(volatile byte *p) \
    { int n = 0; for (int i = 0; i < BYTES; i++) n += p[i] != 0; printf(#name " %d\n", n); }
FILL(old) FILL(new)
TAKE(shortened) TAKE(hole) TAKE(opened) TAKE(removed) TAKE(written) TAKE(kept) TAKE(zero) TAKE(guarded) TAKE(thrown) TAKE(thread) TAKE(far)

static byte *map(int fd) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); }

static void fill_file(int fd)
{
    byte *p = map(fd);
    fill_old(p);
    munmap(p, 4096);
}

static int file(const char *name, int more)
{
    int fd = open(name, O_RDWR | O_CREAT | more, 0600);
    if (ftruncate(fd, 4096)) perror(name);
    return fd;
}

static void files(void)
{
    static byte text[BYTES];
    int fd = file("one", 0);
    fill_file(fd);
    take_kept(map(fd));
    fd = file("two", 0);
    fill_file(fd);
    if (ftruncate(fd, 0) || ftruncate(fd, 4096)) perror("two");
    take_shortened(map(fd));
    fd = file("three", 0);
    fill_file(fd);
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096)) fill_file(file("three", O_TRUNC));
    take_hole(map(fd));
    fd = file("four", 0);
    fill_file(fd);
    take_opened(map(file("four", O_TRUNC)));
    fd = file("five", 0);
    fill_file(fd);
    close(fd);
    unlink("five");
    take_removed(map(file("six", O_EXCL)));
    /* Written again, and not by a mapping. */
    fd = file("seven", 0);
    fill_file(fd);
    if (ftruncate(fd, 0)) perror("seven");
    fill_new(text);
    if (pwrite(fd, text, BYTES, 0) != BYTES) perror("seven");
    take_written(map(fd));
}

static void zero(void)
{
    int fd = open("/dev/zero", O_RDWR);
    byte *one = map(fd), *other = map(fd);
    fill_old(one);
    take_zero(other);
}

static void guard(void)
{
    byte *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill_old(p);
    /* MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, of Linux 6.13. */
    if (!madvise(p, 4096, 102)) {
        int ends[2];
        if (!pipe(ends) && write(ends[1], p, BYTES) >= 0) perror("no guard");
        madvise(p, 4096, 103);
    }
    take_guarded(p);
}

/* At a multiple of 2 TiB: the sums have nothing before it. */
static void far(void)
{
    byte *p = mmap((void *)(1UL << 41), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) return;
    fill_new(p);
    take_far(p);
}

static void thrown_away(void)
{
    static byte into[BYTES], text[BYTES];
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int heard = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0), in;
    if (bind(heard, (void *)&at, size) || listen(heard, 1) || getsockname(heard, (void *)&at, &size)) return;
    if (connect(out, (void *)&at, size) || (in = accept(heard, 0, 0)) < 0) return;
    fill_new(text);
    fill_old(into);
    if (send(out, text, BYTES, 0) != BYTES || recv(in, into, BYTES, MSG_TRUNC | MSG_WAITALL) != BYTES) perror("recv");
    take_thrown(into);
}

static byte of_thread[BYTES];

static void *by_thread(void *other)
{
    static byte text[BYTES];
    struct iovec from = { text, BYTES }, to = { of_thread, BYTES };
    fill_new(text);
    if (process_vm_writev(syscall(SYS_gettid), &from, 1, &to, 1, 0) != BYTES) perror("process_vm_writev");
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count != 2 || chdir(arguments[1])) return 1;
    files();
    zero();
    guard();
    far();
    thrown_away();
    fill_old(of_thread);
    pthread_create(&thread, 0, by_thread, 0);
    pthread_join(thread, 0);
    take_thread(of_thread);
    return 0;
}
