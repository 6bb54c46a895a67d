/* Reads two files that are mapped at one address, one after the other, by the same load.

   gcc -O1 -g -o two_files two_files.c && ./two_files */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 4096 };

static __attribute__((noinline)) int total(const unsigned char *bytes) {
    int sum = 0;
    for (int i = 0; i < SIZE; i++) sum += bytes[i];
    return sum;
}

/* A file of its own kind: its name is in the graph. */
static unsigned char *mapped(const char *name, void *at) {
    FILE *file = fopen(name, "w+");
    for (int i = 0; i < SIZE; i++) fputc(name[0], file);
    fflush(file);
    void *map = mmap(at, SIZE, PROT_READ, MAP_PRIVATE | (at ? MAP_FIXED : 0), fileno(file), 0);
    fclose(file);
    unlink(name);
    return map;
}

int main(void) {
    unsigned char *first = mapped("a.bin", 0);
    int sum = total(first);
    sum += total(mapped("b.bin", first));
    return sum == SIZE * ('a' + 'b') ? 0 : 1;
}
