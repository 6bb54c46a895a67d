/* Memory that the kernel takes back, or that is at two addresses: for each way a writer and a reader. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096
#define PAIR(name, value) \
    __attribute__((noinline)) static void write_##name(char *p, int n) \
    { \
        for (int i = 0; i < n; i++) ((volatile char *)p)[i] = value; \
    } \
    __attribute__((noinline)) static void read_##name(const char *p, int n) \
    { \
        for (int i = 0; i < n; i++) sum += ((const volatile char *)p)[i]; \
    }

static volatile int sum;
PAIR(dontneed, 1)
PAIR(free, 2)
PAIR(fixed, 3)
PAIR(protected, 4)
PAIR(shrunk, 5)
PAIR(moved, 6)
PAIR(truncated, 7)
PAIR(alias, 8)
PAIR(pwritten, 9)
PAIR(broken, 10)
PAIR(private, 11)
PAIR(again, 12)
PAIR(punched, 13)
PAIR(ring, 14)
PAIR(segment, 15)
PAIR(copied, 16)

static char *anonymous(int pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char *shared(int file, int pages, void *at)
{
    return mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file, 0);
}

static void of_anonymous(void)
{
    char *a = anonymous(2);
    write_dontneed(a, 100);
    madvise(a, PAGE, MADV_DONTNEED);
    read_dontneed(a, 100);
    write_free(a, 100);
    madvise(a, PAGE, MADV_FREE);
    read_free(a, 100);
    write_fixed(a, 100);
    mmap(a, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    read_fixed(a, 100);
    write_protected(a, 100);
    mprotect(a, PAGE, PROT_NONE);
    mprotect(a, PAGE, PROT_READ | PROT_WRITE);
    read_protected(a, 100);
    write_shrunk(a + PAGE, 100);
    a = mremap(a, 2 * PAGE, PAGE, 0);
    a = mremap(a, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    read_shrunk(a + PAGE, 100);
    write_moved(a, 100);
    a = mremap(a, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    read_moved(a, 100);
    char *end = sbrk(2 * PAGE);
    write_broken(end, 2 * PAGE);
    sbrk(-2 * PAGE);
    read_broken(sbrk(2 * PAGE), 2 * PAGE);
}

static void of_file(void)
{
    char buffer[64];
    int file = memfd_create("two", 0);
    if (ftruncate(file, 2 * PAGE)) return;
    char *a = shared(file, 2, NULL), *b = shared(file, 2, NULL);
    write_alias(a, 100);
    read_alias(b, 100);
    write_truncated(a + PAGE, 100);
    if (ftruncate(file, PAGE) || ftruncate(file, 2 * PAGE)) return;
    read_truncated(b + PAGE, 100);
    write_pwritten(buffer, 64);
    if (pwrite(file, buffer, 64, 512) != 64) return;
    read_pwritten(a + 512, 64);
    write_punched(a + PAGE, 100);
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE);
    read_punched(b + PAGE, 100);
    /* What moves stays shared. */
    write_copied(a, 100);
    b = mremap(b, 2 * PAGE, PAGE, 0);
    b = mremap(b, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    read_copied(b, 100);
    write_again(b, 100);
    munmap(a, 2 * PAGE);
    munmap(b, 2 * PAGE);
    read_again(shared(file, 1, NULL), 100);
    a = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    write_private(a + PAGE, 100);
    if (ftruncate(file, PAGE) || ftruncate(file, 2 * PAGE)) return;
    read_private(a + PAGE, 100);
    /* A ring: the page behind the last is the first. */
    a = anonymous(2);
    shared(file, 1, a);
    shared(file, 1, a + PAGE);
    write_ring(a, 4);
    write_ring(a + PAGE - 4, 4);
    long across;
    memcpy(&across, a + PAGE - 4, 8);
    read_ring((char *)&across, 8);
}

__attribute__((noinline)) static void across(const char *p)
{
    unsigned long all;
    __asm__ volatile("movq %1, %0" : "=r"(all) : "m"(*(const unsigned long *)p));
    sum += (int)all;
}

static void of_segment(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    char *a = shmat(id, NULL, 0), *b = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    write_segment(a, 100);
    read_segment(b, 100);
    int file = memfd_create("ring", 0);
    if (ftruncate(file, PAGE)) return;
    char *ring = anonymous(2);
    shared(file, 1, ring);
    shared(file, 1, ring + PAGE);
    write_ring(ring, 4);
    write_ring(ring + PAGE - 4, 4);
    across(ring + PAGE - 4);
}

int main(void)
{
    of_anonymous();
    of_file();
    of_segment();
    return sum == 0;
}
