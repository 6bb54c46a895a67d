/* Memory that lies at several addresses, that comes again, or that is a file: what is written in one way is read in another. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define PAIR(name) \
    APART static void write_##name(volatile unsigned char *at, int n) \
    { \
        for (int i = 0; i < n; i++) at[i] = (unsigned char)i; \
    } \
    APART static void read_##name(volatile unsigned char *at, int n) \
    { \
        for (int i = 0; i < n; i++) total += at[i]; \
    }

static int total;
static unsigned char buffer[100];
PAIR(file)
PAIR(segment)
PAIR(nameless)
PAIR(moved)
PAIR(written)
PAIR(placed)
PAIR(parts)

static unsigned char *map(int file, int flags)
{
    void *at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
    if (at == MAP_FAILED) exit(100);
    return at;
}

static unsigned char *attach(int segment)
{
    void *at = shmat(segment, 0, 0);
    if (at == (void *)-1) exit(77);
    return at;
}

int main(void)
{
    char name[] = "/tmp/addfg-shares-XXXXXX";
    int file = mkstemp(name), segment = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    if (file < 0 || unlink(name) || ftruncate(file, 16384)) return 101;
    if (segment < 0) return 77;

    unsigned char *one = map(file, 0), *other = map(file, 0);
    write_file(one, 100);
    read_file(other, 100);

    unsigned char *first = attach(segment), *second = attach(segment);
    write_segment(first, 90);
    read_segment(second, 90);
    shmdt(first);
    read_segment(second, 90);
    shmdt(second);
    read_segment(attach(segment), 90);
    shmctl(segment, IPC_RMID, 0);

    /* Of shared memory nothing is taken back. */
    unsigned char *nameless = map(-1, MAP_ANONYMOUS);
    write_nameless(nameless, 80);
    madvise(nameless, 8192, MADV_DONTNEED);
    read_nameless(nameless, 80);

    write_moved(one + 5000, 70);
    one = mremap(one, 8192, 16384, MREMAP_MAYMOVE);
    write_moved(one + 5100, 10);
    read_moved(other + 5000, 70);
    read_moved(other + 5100, 10);
    munmap(one, 16384);
    one = map(file, 0);
    read_file(one, 100);

    write_written(buffer, 60);
    lseek(file, 7000, SEEK_SET);
    if (write(file, buffer, 60) != 60) return 102;
    read_written(other + 7000, 60);
    write_placed(buffer, 60);
    if (pwrite(file, buffer, 60, 6000) != 60) return 103;
    read_placed(one + 6000, 60);
    write_parts(buffer, 100);
    struct iovec parts[2] = { { buffer, 20 }, { buffer + 30, 30 } };
    lseek(file, 7200, SEEK_SET);
    if (writev(file, parts, 2) != 50) return 104;
    read_parts(other + 7200, 50);
    return total == 0;
}
