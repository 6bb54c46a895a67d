/* mappings FOLDER SEED: maps, moves, takes back, cuts and writes files in FOLDER at random, by system calls alone.
 * tests/programs/mappings.py says what becomes of the memory. Prints of each file device, inode, descriptor and where its name is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 24
#define AT 0x20000000UL
#define FILES 3

static unsigned long state;
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
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % n;
}
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

int main(int argc, char **argv)
{
    static char name[FILES][200], data[3 * PAGE];
    int fd[FILES + 1], shared_first;
    state = atol(argv[2]);
    shared_first = state & 1;
    for (int i = 0; i < FILES; i++) {
        struct stat known;
        snprintf(name[i], sizeof name[i], "%s/file%d", argv[1], i);
        /* The last one is written at its end only. */
        fd[i] = open(name[i], O_RDWR | O_CREAT | O_TRUNC | (i == FILES - 1 ? O_APPEND : 0), 0600);
        fstat(fd[i], &known);
        printf("%#lx %#lx %d %p\n", (long)known.st_dev, (long)known.st_ino, fd[i], name[i]);
    }
    fd[FILES] = fd[0];
    fflush(stdout);
    call(SYS_getppid, 1, 2, 3, 4, 5, 6);
    for (int i = 0; i < FILES; i++) call(SYS_ftruncate, fd[i], 9000 + 4000 * i, 0, 0, 0, 0);
    if (shared_first) {
        call(SYS_mmap, AT, 3 * PAGE, 3, MAP_SHARED | MAP_FIXED, fd[0], 0);
        note(AT, 3 * PAGE, 1);
    }
    for (int n = 0; n < 400; n++) {
        unsigned long at = AT + PAGE * below(PAGES), bytes = 1 + below(5 * PAGE), which = below(FILES), to = AT + PAGE * (PAGES + below(PAGES));
        long offset = PAGE * below(4);
        switch (below(20)) {
        case 0: case 1: case 2: case 3: case 4: {
            static const int kinds[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED, MAP_SHARED };
            int kind = kinds[below(5)];
            unsigned long there = below(4) ? at : to;
            call(SYS_mmap, there, bytes, 3, kind | MAP_FIXED, kind & MAP_ANONYMOUS ? -1 : fd[which], kind & MAP_ANONYMOUS ? 0 : offset);
            note(there, bytes, n + 2);
            break;
        }
        case 5:
            if (call(SYS_munmap, at, bytes, 0, 0, 0, 0) == 0) note(at, bytes, 0);
            break;
        case 6: case 7: {
            unsigned long before = 1 + below(3), now = 1 + below(3);
            if (!is_one(at, before)) break;
            if (below(4) == 0) {
                if (before > 1 && call(SYS_mremap, at, PAGE * before, PAGE, 0, 0, 0) >= 0) note(at + PAGE, PAGE * (before - 1), 0);
                break;
            }
            if (call(SYS_mremap, at, PAGE * before, PAGE * now, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0) < 0) break;
            note(at, PAGE * before, 0);
            note(to, PAGE * now, n + 2);
            break;
        }
        case 8: case 9: case 10: {
            static const int advice[] = { 4, 4, 4, 8, 9, 24, 0, 3, 14 };
            call(SYS_madvise, below(3) ? at : to, below(4) ? bytes : bytes * 4, advice[below(9)], 0, 0, 0);
            break;
        }
        case 11: call(SYS_ftruncate, fd[which], below(5 * PAGE), 0, 0, 0, 0); break;
        case 12: call(SYS_truncate, (long)name[which], below(5 * PAGE), 0, 0, 0, 0); break;
        case 13: {
            long cut = below(6), other = cut == 0 ? call(SYS_open, (long)name[which], O_RDWR | O_TRUNC, 0, 0, 0, 0)
                : cut == 1 ? call(SYS_openat, AT_FDCWD, (long)name[which], O_WRONLY | O_TRUNC, 0, 0, 0)
                : cut == 2 ? call(SYS_creat, (long)name[which], 0600, 0, 0, 0, 0)
                : cut == 3 ? call(SYS_open, (long)name[which], O_RDWR, 0, 0, 0, 0) : call(SYS_openat, AT_FDCWD, (long)name[which], O_RDWR, 0, 0, 0);
            call(SYS_close, other, 0, 0, 0, 0, 0);
            break;
        }
        case 14: case 15: {
            static const int modes[] = { 0, 1, 3, 3, 3, 8, 16, 17, 32 };
            int mode = modes[below(9)];
            call(SYS_fallocate, fd[which], mode, mode & 40 ? offset : below(3 * PAGE), mode & 40 ? PAGE : 1 + below(2 * PAGE), 0, 0);
            break;
        }
        case 16: call(SYS_write, fd[which], (long)data, below(700), 0, 0, 0); break;
        case 17: call(SYS_pwrite64, fd[which], (long)data, below(700), below(9000), 0, 0); break;
        case 18: {
            struct iovec part[3] = { { data, below(300) }, { data + 1000, below(300) }, { data + 2000, below(300) } };
            if (below(2)) call(SYS_writev, fd[which], (long)part, 3, 0, 0, 0);
            else call(SYS_pwritev, fd[which], (long)part, 3, below(9000), 0, 0);
            break;
        }
        case 19: {
            long in = below(4000), out = below(4000);
            if (below(2)) call(SYS_sendfile, fd[below(2)], fd[1], (long)&in, 1 + below(500), 0, 0);
            else call(SYS_copy_file_range, fd[0], (long)&in, fd[1], below(2) ? (long)&out : 0, 1 + below(500), 0);
            if (below(5) == 0) call(SYS_lseek, fd[which], below(5000), 0, 0, 0, 0);
            break;
        }
        }
    }
    call(SYS_getppid, 1, 2, 3, 4, 5, 6);
    return 0;
}
