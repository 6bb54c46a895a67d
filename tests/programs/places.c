/* places.c: reads what lies between the sections of its images, and files that are mapped over other things; what lies
 * across the border of two mappings is written with one store, and the kernel reads it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
static char array[8 * PAGE];
static unsigned long sum;

__attribute__((noinline)) static void look(const volatile unsigned char *at, unsigned long bytes)
{
    for (unsigned long i = 0; i < bytes; i++) sum += at[i];
}

/* The last words may lie across the end of a section. */
__attribute__((noinline)) static void look_at_words(const volatile unsigned char *at, unsigned long bytes)
{
    for (unsigned long i = 0; i + 8 <= bytes; i += 3) sum += *(const volatile unsigned long *)(at + i);
}

static int segments(struct dl_phdr_info *of, size_t size, void *data)
{
    for (int i = 0; i < of->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = of->dlpi_phdr + i;
        if (p->p_type != PT_LOAD || p->p_flags & PF_X) continue;
        /* Not all of it: the table of symbols is large. */
        const unsigned char *end = (const unsigned char *)of->dlpi_addr + p->p_vaddr + p->p_memsz;
        unsigned long bytes = p->p_memsz < 20000 ? p->p_memsz : 20000;
        look(end - bytes, bytes);
        look_at_words(end - bytes, bytes);
        /* What is behind it in its last page. */
        unsigned long behind = -(unsigned long)end % PAGE;
        if (p->p_flags & PF_W) look(end, behind);
    }
    (void)size;
    (void)data;
    return 0;
}

static void *map(void *at, unsigned long bytes, int file, unsigned long offset)
{
    int flags = MAP_PRIVATE | (at ? MAP_FIXED : 0) | (file < 0 ? MAP_ANONYMOUS : 0);
    void *there = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, offset);
    if (there == MAP_FAILED) perror("mmap");
    return there;
}

int main(int argc, char **argv)
{
    char page[4 * PAGE];
    (void)argc;
    dl_iterate_phdr(segments, NULL);
    int one = open("one", O_RDWR | O_CREAT | O_TRUNC, 0600), two = open("two", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int self = open(argv[0], O_RDONLY);
    memset(page, 1, sizeof page);
    if (write(one, page, sizeof page) < 0 || write(two, page, sizeof page) < 0) return 1;

    unsigned char *p = map(NULL, 4 * PAGE, one, 0);
    look(p, 4 * PAGE);
    map(p + PAGE, PAGE, two, PAGE);
    map(p + 2 * PAGE, PAGE, -1, 0);
    look(p, 4 * PAGE);
    look_at_words(p, 4 * PAGE);
    /* The same file again, over memory that has taken its place. */
    map(p + PAGE, 2 * PAGE, one, 0);
    p[PAGE + 5] = 1;
    look_at_words(p, 4 * PAGE);

    /* Over a variable of the image, and given back. */
    unsigned char *in = (unsigned char *)array + (-(unsigned long)array % PAGE) + PAGE;
    in[0] = in[3 * PAGE] = 7;
    map(in, 2 * PAGE, two, 0);
    look(in - PAGE, 5 * PAGE);
    map(in + PAGE, PAGE, -1, 0);
    look(in - PAGE, 5 * PAGE);
    /* The image's own file, where it lies and elsewhere. */
    map(in, PAGE, self, 0);
    unsigned char *again = map(NULL, 2 * PAGE, self, 0);
    look(in - PAGE, 5 * PAGE);
    look(again, PAGE);

    unsigned char *q = map(NULL, 2 * PAGE, -1, 0) + PAGE;
    map(q, PAGE, -1, 0);
    *(volatile unsigned long *)(q - 4) = 5;
    if (write(one, q - 4, 8) != 8 || write(one, q - 2, 6) != 6) return 1;
    *(volatile unsigned *)(q - 2) = 5;
    if (write(one, q - 4, 8) != 8 || pread(two, q - 50, 100, 0) != 100) return 1;
    q[10] = 5;
    if (write(one, q - 50, 100) != 100) return 1;

    unsigned char *moved = mremap(p, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    if (moved != MAP_FAILED) look(moved, 4 * PAGE);
    printf("%lu\n", sum);
    return 0;
}
