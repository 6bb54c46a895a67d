/* mappings FOLDER SEED: maps, moves, takes back, cuts and writes files in FOLDER at random, by system calls alone.
 * tests/programs/mappings.py says what becomes of the memory. Prints of each file device, inode, descriptor and where its name is; the
 * numbers of its calls; and of each call the places where a byte that it had planted before stands afterwards, or does not any more. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 24
#define AT 0x20000000UL
#define FILES 3

static unsigned long long state;
/* By page the call that mapped it, and 1: valgrind moves only what one has mapped. */
static int mapped_by[3 * PAGES];

static void note(unsigned long at, unsigned long bytes, int by)
{
    for (unsigned long n = (at - AT) / PAGE; n < (at - AT + bytes + PAGE - 1) / PAGE; n++) mapped_by[n] = by;
}

static int is_one(unsigned long at, unsigned long pages)
{
    unsigned long first = (at - AT) / PAGE;
    for (unsigned long n = first; n < first + pages; n++)
        if (!mapped_by[n] || mapped_by[n] != mapped_by[first]) return 0;
    return 1;
}

static unsigned long below(unsigned long n)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % n;
}

#define NUMBER(name) { #name, SYS_##name },
static const struct { const char *name; long number; } numbers[] = {
#ifdef SYS_open
    NUMBER(open) NUMBER(creat)
#endif
#ifdef SYS_mmap2
    NUMBER(mmap2) NUMBER(ftruncate64) NUMBER(truncate64) NUMBER(sendfile64)
#else
    NUMBER(mmap) NUMBER(ftruncate) NUMBER(truncate) NUMBER(sendfile)
#endif
    NUMBER(getppid) NUMBER(getpgid) NUMBER(openat) NUMBER(munmap) NUMBER(mremap) NUMBER(madvise) NUMBER(fallocate) NUMBER(write) NUMBER(pwrite64)
    NUMBER(writev) NUMBER(pwritev) NUMBER(pwritev2) NUMBER(copy_file_range) NUMBER(splice) NUMBER(lseek)
};

/* Numbers of 64 bits are two of 32; on ARM, the first of them is even. */
#if __SIZEOF_LONG__ == 8
#define TWO(n) (long)(n)
#define SYS_OF(name) SYS_##name
#define OFFSET(n) (n)
#else
#define TWO(n) (long)(n), 0L
#define SYS_OF(name) SYS_##name##64
#define SYS_mmap64 SYS_mmap2
#define OFFSET(n) ((n) / PAGE)
#endif
#if defined(__arm__)
#define EVEN 0L,
#else
#define EVEN
#endif

#define call(...) call_(__VA_ARGS__, 0L, 0L, 0L, 0L, 0L, 0L)
#define call_(number, a, b, c, d, e, f, ...) kernel(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}

static char results[1 << 22];
static int printed;

/* Bytes that were planted, and a pipe through which memory is looked at that may not be there. */
#define MARKS 200
static unsigned long mark[MARKS];
static unsigned marks;
static int through[2];

static int has_mark(unsigned long at)
{
    unsigned char byte = 0;
    return write(through[1], (char *)at, 1) == 1 && read(through[0], &byte, 1) == 1 && byte == 0xa5;
}

static void plant(unsigned long at)
{
    unsigned char byte = 0xa5;
    if (write(through[1], &byte, 1) != 1) return;
    if (read(through[0], (char *)at, 1) != 1) read(through[0], &byte, 1);
    else if (marks < MARKS) mark[marks++] = at;
}

/* What the call behind the last border left. */
static void look(int n)
{
    for (unsigned i = 0; i < marks; i++) {
        int stands = has_mark(mark[i]);
        printed += snprintf(results + printed, sizeof results - printed, "%s %d %#lx\n", stands ? "stands" : "gone", n, mark[i]);
        if (!stands) mark[i--] = mark[--marks];
    }
}

int main(int argc, char **argv)
{
    static char name[FILES][200], data[3 * PAGE];
    int fd[FILES + 1], filled[2];
    state = atol(argv[2]);
    if (pipe(through) || pipe(filled)) return 1;
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) printf("number %s %ld\n", numbers[i].name, numbers[i].number);
    printf("words %d %d\n", (int)sizeof(long), (int)(sizeof (long[]){ EVEN 0L } / sizeof(long) - 1));
    for (int i = 0; i < FILES; i++) {
        struct stat known;
        snprintf(name[i], sizeof name[i], "%s/file%d", argv[1], i);
        /* The last one is written at its end only. */
        fd[i] = open(name[i], O_RDWR | O_CREAT | O_TRUNC | (i == FILES - 1 ? O_APPEND : 0), 0600);
        fstat(fd[i], &known);
        printf("file %#lx %#lx %d %p\n", (long)known.st_dev, (long)known.st_ino, fd[i], name[i]);
    }
    fd[FILES] = fd[0];
    fflush(stdout);
    call(SYS_getppid, 1, 2, 3, 4, 5, 6);
    for (int i = 0; i < FILES; i++) call(SYS_OF(ftruncate), fd[i], EVEN TWO(9000 + 4000 * i));
    if (state & 1) {
        call(SYS_OF(mmap), AT, 3 * PAGE, 3, MAP_SHARED | MAP_FIXED, fd[0], 0);
        note(AT, 3 * PAGE, 1);
    }
    for (int n = 0; n < 400; n++) {
        unsigned long at = AT + PAGE * below(PAGES), bytes = 1 + below(5 * PAGE), which = below(FILES), to = AT + PAGE * (PAGES + below(PAGES));
        long offset = PAGE * below(4);
        plant(AT + below(2 * PAGES * PAGE));
        call(SYS_getpgid, 0x7a000000 + n);
        switch (below(20)) {
        case 0: case 1: case 2: case 3: case 4: {
            static const int kinds[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED, MAP_SHARED };
            int kind = kinds[below(5)];
            unsigned long there = below(4) ? at : to;
            call(SYS_OF(mmap), there, bytes, 3, kind | MAP_FIXED, kind & MAP_ANONYMOUS ? -1 : fd[which], kind & MAP_ANONYMOUS ? 0 : OFFSET(offset));
            note(there, bytes, n + 2);
            break;
        }
        case 5:
            if (call(SYS_munmap, at, bytes) == 0) note(at, bytes, 0);
            break;
        case 6: case 7: {
            unsigned long before = 1 + below(3), now = 1 + below(3);
            if (!is_one(at, before)) break;
            if (below(4) == 0) {
                if (before > 1 && call(SYS_mremap, at, PAGE * before, PAGE, 0) >= 0) note(at + PAGE, PAGE * (before - 1), 0);
                break;
            }
            if (call(SYS_mremap, at, PAGE * before, PAGE * now, MREMAP_MAYMOVE | MREMAP_FIXED, to) < 0) break;
            note(at, PAGE * before, 0);
            note(to, PAGE * now, n + 2);
            break;
        }
        case 8: case 9: case 10: {
            static const int advice[] = { 4, 4, 4, 8, 9, 24, 0, 3, 14 };
            call(SYS_madvise, below(3) ? at : to, below(4) ? bytes : bytes * 4, advice[below(9)]);
            break;
        }
        case 11: call(SYS_OF(ftruncate), fd[which], EVEN TWO(below(5 * PAGE))); break;
        case 12: call(SYS_OF(truncate), name[which], EVEN TWO(below(5 * PAGE))); break;
        case 13: {
            long other, cut = below(6);
#ifdef SYS_open
            if (cut == 0) other = call(SYS_open, name[which], O_RDWR | O_TRUNC);
            else if (cut == 2) other = call(SYS_creat, name[which], 0600);
            else if (cut == 3) other = call(SYS_open, name[which], O_RDWR);
            else
#endif
            other = call(SYS_openat, AT_FDCWD, name[which], cut & 1 ? O_WRONLY | O_TRUNC : O_RDWR);
            call(SYS_close, other);
            break;
        }
        case 14: case 15: {
            static const int modes[] = { 0, 1, 3, 3, 3, 8, 16, 17, 32 };
            int mode = modes[below(9)];
            long first = mode & 40 ? offset : below(3 * PAGE), length = mode & 40 ? PAGE : 1 + below(2 * PAGE);
            call(SYS_fallocate, fd[which], mode, TWO(first), TWO(length));
            break;
        }
        case 16: call(SYS_write, fd[which], data, below(700)); break;
        case 17: {
            long length = below(700), first = below(9000);
            call(SYS_pwrite64, fd[which], data, length, EVEN TWO(first));
            break;
        }
        case 18: {
            struct iovec part[3] = { { data, below(300) }, { data + 1000, below(300) }, { data + 2000, below(300) } };
            long how = below(5), first = below(9000);
            if (how < 2) call(SYS_writev, fd[which], part, 3);
            else if (how < 4) call(SYS_pwritev, fd[which], part, 3, TWO(first));
            else call(SYS_pwritev2, fd[which], part, 3, first & 1 ? -1 : first, first & 1 ? -1 : 0, first & 2 ? 0x10 /* RWF_APPEND */ : 0);
            break;
        }
        case 19: {
            long long in = below(4000), out = below(4000);
            long length = 1 + below(500), how = below(4);
            if (how == 0) call(SYS_OF(sendfile), fd[below(2)], fd[1], &in, length);
            else if (how == 1) call(SYS_copy_file_range, fd[0], &in, fd[1], below(2) ? &out : 0, length);
            else if (write(filled[1], data, length) == length && call(SYS_splice, filled[0], 0, fd[which], how == 2 ? &out : 0, length) != length) {
                while (length > 0) length -= read(filled[0], data, length);
                memset(data, 0, sizeof data);
            }
            if (below(5) == 0) call(SYS_lseek, fd[which], below(5000), 0);
            break;
        }
        }
        look(n);
    }
    call(SYS_getppid, 1, 2, 3, 4, 5, 6);
    return printf("%s", results) < 0;
}
