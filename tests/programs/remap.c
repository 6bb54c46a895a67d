/* Memory that takes the place of a file: `remap FILE`, of 4096 bytes at least. The addresses are its own choice, so they are the same. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 16, USED = 4096 };
static unsigned char *const place = (unsigned char *) 0x5000000000;

__attribute__((noinline)) static long of_file(const unsigned char *from) {
    long sum = 0;
    for (int i = 0; i < USED; i++) sum += from[i];
    return sum;
}

__attribute__((noinline)) static void fill(unsigned char *to) {
    for (int i = 0; i < USED; i++) to[i] = i * 7;
}

/* What was filled, and as much behind it. */
__attribute__((noinline)) static long of_memory(const unsigned char *from) {
    long sum = 0;
    for (int i = 0; i < 2 * USED; i++) sum += from[i];
    return sum;
}

__attribute__((noinline)) static long of_cover(const unsigned char *from) {
    long sum = 0;
    for (int i = 0; i < USED; i++) sum += from[i];
    return sum;
}

static unsigned char *map(int file, int flags) {
    return mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | flags, file, 0);
}

int main(int argc, char **argv) {
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0 || map(file, 0) != place) return 1;
    long sum = of_file(place);
    munmap(place, SIZE);
    /* Behind an unmapping, and over the file itself. */
    if (map(-1, MAP_ANONYMOUS) != place) return 1;
    fill(place);
    sum += of_memory(place);
    if (map(file, 0) != place || map(-1, MAP_ANONYMOUS) != place) return 1;
    sum += of_cover(place);
    printf("%ld\n", sum);
    return 0;
}
