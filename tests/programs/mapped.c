/* Memory that lies where other memory was, moves, and is dropped. Each reader is a function. */
#define _GNU_SOURCE
#include <sys/mman.h>

enum { SIZE = 1 << 14 };
static volatile int sum;

__attribute__((noinline)) static void fill(volatile char *p) { for (int i = 0; i < SIZE; i++) p[i] = i; }
__attribute__((noinline)) static void use_filled(volatile char *p) { for (int i = 0; i < SIZE; i++) sum += p[i]; }
__attribute__((noinline)) static void use_fresh(volatile char *p) { for (int i = 0; i < SIZE; i++) sum += p[i]; }
__attribute__((noinline)) static void use_moved(volatile char *p) { for (int i = 0; i < SIZE; i++) sum += p[i]; }
__attribute__((noinline)) static void use_dropped(volatile char *p) { for (int i = 0; i < SIZE; i++) sum += p[i]; }

static char *map(void *at, int more)
{
    return mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}

int main(void)
{
    char *p = map(0, 0);
    fill(p);
    use_filled(p);
    munmap(p, SIZE);
    p = map(p, MAP_FIXED);
    use_fresh(p);
    fill(p);
    p = mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, p + (1 << 24));
    use_moved(p);
    madvise(p, SIZE / 2, MADV_DONTNEED);
    use_dropped(p);
    return 0;
}
