/* Memory that lies at several addresses: stores, loads and calls of the kernel at random, from a seed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096L
#define FILES 5
#define PLACES 10
#define PAGES 6

static unsigned long state;
static unsigned long below(unsigned long n)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % n;
}

static int file[FILES];
static struct { char *at; long pages; int file; } place[PLACES];
static char buffer[3 * PAGE];
static volatile unsigned long sum;

#define ACCESS(n) \
    __attribute__((noinline)) static void write_##n(char *p, int size) \
    { \
        switch (size) { \
        case 0: *(volatile char *)p = n; break; \
        case 1: *(volatile short *)p = n; break; \
        case 2: *(volatile int *)p = n; break; \
        case 3: *(volatile long *)p = n; break; \
        case 4: __asm__ volatile("movups %%xmm0, %0" : "=m"(*(char(*)[16])p)); break; \
        default: for (int i = 0; i < size; i++) ((volatile char *)p)[i] = n; \
        } \
    } \
    __attribute__((noinline)) static void read_##n(const char *p, int size) \
    { \
        switch (size) { \
        case 0: sum += *(volatile char *)p; break; \
        case 1: sum += *(volatile short *)p; break; \
        case 2: sum += *(volatile int *)p; break; \
        case 3: sum += *(volatile long *)p; break; \
        case 4: __asm__ volatile("movups %0, %%xmm0" : : "m"(*(const char(*)[16])p) : "xmm0"); break; \
        default: for (int i = 0; i < size; i++) sum += ((volatile char *)p)[i]; \
        } \
    }
ACCESS(1) ACCESS(2) ACCESS(3) ACCESS(4)
static void (*const writes[])(char *, int) = { write_1, write_2, write_3, write_4 };
static void (*const reads[])(const char *, int) = { read_1, read_2, read_3, read_4 };

static void map(int i)
{
    int f = below(FILES + 2);
    long pages = 1 + below(3);
    place[i].pages = pages;
    place[i].file = f;
    if (f == FILES) {
        place[i].at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, (below(2) ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
    } else if (f > FILES) {
        int id = shmget(IPC_PRIVATE, pages * PAGE, IPC_CREAT | 0600);
        place[i].at = shmat(id, NULL, 0);
        int j = below(PLACES);
        if (!place[j].at) {
            place[j] = place[i];
            place[j].at = shmat(id, NULL, 0);
        }
        shmctl(id, IPC_RMID, NULL);
    } else {
        int flags = below(5) ? MAP_SHARED : MAP_PRIVATE;
        place[i].at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, file[f], PAGE * below(PAGES - pages + 1));
    }
    if (place[i].at == (char *)-1) abort();
}

static void unmap(int i)
{
    if (place[i].file > FILES) shmdt(place[i].at);
    else munmap(place[i].at, place[i].pages * PAGE);
    place[i].at = NULL;
}

static void act(void)
{
    int i = below(PLACES), what = below(100);
    if (!place[i].at) return map(i);
    char *p = place[i].at + below(place[i].pages * PAGE);
    /* Mostly the same few bytes, and the ends of pages. */
    if (below(4)) p = place[i].at + below(place[i].pages) * PAGE + (below(3) ? below(24) : PAGE - 16 + below(16));
    int size = below(6);
    long left = place[i].at + place[i].pages * PAGE - p, room = size < 4 ? 1 << size : size == 4 ? 16 : 5;
    if (size == 5) size = 5 + below(40), room = size;
    if (room > left) return;
    struct iovec parts[2] = { { p, left < 100 ? left : 100 }, { buffer, below(200) } };
    int f = below(FILES);
    switch (what) {
    case 0: return unmap(i);
    case 1:
        if (place[i].file >= FILES) return;
        /* What is of two mappings does not move. */
        p = mremap(place[i].at, place[i].pages * PAGE, (1 + below(3)) * PAGE, MREMAP_MAYMOVE);
        if (p == MAP_FAILED) return;
        place[i].at = p;
        place[i].pages = 1;
        return;
    case 2:
        if (place[i].file > FILES || place[i].pages < 2) return;
        munmap(place[i].at + PAGE, (place[i].pages - 1) * PAGE);
        place[i].pages = 1;
        return;
    case 3: memcpy(p, buffer, left < 300 ? left : 300); return;
    case 4: memcpy(buffer + below(1000), p, left < 300 ? left : 300); return;
    case 5: if (pwrite(file[f], buffer + below(100), below(300), below(PAGES - 1) * PAGE + below(PAGE)) < 0) abort(); return;
    case 6: if (pread(file[f], buffer + below(100), below(300), below(PAGES - 1) * PAGE + below(PAGE)) < 0) abort(); return;
    case 7: if (pwritev(file[f], parts, 2, below(PAGES - 1) * PAGE + below(PAGE)) < 0) abort(); return;
    case 8: if (preadv(file[f], parts, 2, below(PAGES - 1) * PAGE + below(PAGE)) < 0) abort(); return;
    case 9:
        if (ftruncate(file[f], PAGE * below(PAGES)) || ftruncate(file[f], PAGES * PAGE)) abort();
        return;
    case 10: fallocate(file[f], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE * below(PAGES), PAGE); return;
    case 11: madvise(place[i].at, PAGE, below(2) ? MADV_DONTNEED : MADV_REMOVE); return;
    case 12: memmove(p, place[i].at, left < 64 ? left : 64); return;
    case 13: memset(p, 1, left < 500 ? left : 500); return;
    case 14:
        /* A ring. */
        if (place[i].file >= FILES || place[i].pages < 2) return;
        mmap(place[i].at + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file[f], 0);
        mmap(place[i].at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file[f], 0);
        return;
    default:
        if (below(2)) writes[below(4)](p, size);
        else reads[below(4)](p, size);
    }
}

int main(int count, char **word)
{
    state = strtoul(word[1], NULL, 10);
    for (int i = 0; i < 8; i++) below(2);
    for (int i = 0; i < FILES; i++) {
        char name[20];
        snprintf(name, sizeof name, "file%d", i);
        file[i] = memfd_create(name, 0);
        if (ftruncate(file[i], PAGES * PAGE)) return 1;
    }
    for (long n = count > 2 ? atol(word[2]) : 3000; n > 0; n--) act();
    return sum == 1;
}
