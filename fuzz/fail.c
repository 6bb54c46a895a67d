/* Makes a file system fail: the Nth call that writes to, or reads from, a file whose path has
   ADDFG_FAIL_PATH in it, and all such calls after it, fail with ADDFG_FAIL_ERROR.
   ADDFG_FAIL_AT is N; ADDFG_FAIL_BYTES instead lets so many bytes be written: a disk that is full.
   ADDFG_FAIL_READS counts reads instead.
   ADDFG_KILL_AT names the first call on such a file that kills the process instead: `open`, `write`,
   `sync`, `rename` (before it has its name), `renamed` (behind that). Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls, bytes;

static int has_part(const char *path) {
    static const char *part;
    return (part || (part = getenv("ADDFG_FAIL_PATH"))) && strstr(path, part) != NULL;
}

static void reach(const char *phase, const char *path) {
    const char *at = getenv("ADDFG_KILL_AT");
    if (at && !strcmp(at, phase) && has_part(path)) kill(getpid(), SIGKILL);
}

static int meant(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return has_part(path);
}

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int fails(int fd, size_t count, int is_read) {
    int saved = errno;
    int is_meant = meant(fd);
    errno = saved;
    if (is_meant && !is_read) reach(count ? "write" : "sync", getenv("ADDFG_FAIL_PATH"));
    if (!is_meant || is_read != (getenv("ADDFG_FAIL_READS") != NULL)) return 0;
    long most = number("ADDFG_FAIL_BYTES"), at = number("ADDFG_FAIL_AT");
    if (most ? atomic_fetch_add(&bytes, (long)count) + (long)count > most
             : at && atomic_fetch_add(&calls, 1) + 1 >= at) {
        errno = (int)number("ADDFG_FAIL_ERROR");
        return 1;
    }
    return 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *b, size_t n) { REAL(write); return fails(fd, n, 0) ? -1 : real(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); return fails(fd, n, 0) ? -1 : real(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(pwrite64); return fails(fd, n, 0) ? -1 : real(fd, b, n, o); }
ssize_t writev(int fd, const struct iovec *v, int n) { REAL(writev); return fails(fd, n > 0 ? v[0].iov_len : 0, 0) ? -1 : real(fd, v, n); }
ssize_t read(int fd, void *b, size_t n) { REAL(read); return fails(fd, n, 1) ? -1 : real(fd, b, n); }
ssize_t pread(int fd, void *b, size_t n, off_t o) { REAL(pread); return fails(fd, n, 1) ? -1 : real(fd, b, n, o); }
ssize_t pread64(int fd, void *b, size_t n, off64_t o) { REAL(pread64); return fails(fd, n, 1) ? -1 : real(fd, b, n, o); }
int fsync(int fd) { REAL(fsync); return fails(fd, 0, 0) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return fails(fd, 0, 0) ? -1 : real(fd); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails(fd, 1, 0) ? -1 : real(fd, n); }

#define OPEN(name) int name(const char *path, int flags, ...) { REAL(name); va_list more; va_start(more, flags); \
    mode_t mode = va_arg(more, mode_t); va_end(more); reach("open", path); return real(path, flags, mode); }
OPEN(open)
OPEN(open64)

int rename(const char *from, const char *to) {
    REAL(rename);
    reach("rename", from);
    int done = real(from, to);
    reach("renamed", from);
    return done;
}
