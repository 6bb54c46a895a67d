/* Runs code that it maps from a file that is no ELF file, from one in memory, and from one that is gone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* mov $7, %eax; ret */
static const unsigned char code[4096] = { 0xb8, 7, 0, 0, 0, 0xc3 };

static int run(int file, int flags)
{
    if (write(file, code, sizeof code) < 0) return 0;
    int (*mapped)(void) = mmap(NULL, sizeof code, PROT_READ | PROT_EXEC, flags, file, 0);
    return (void *)mapped == MAP_FAILED ? 0 : mapped();
}

int main(void)
{
    int sum = run(open("code.bin", O_RDWR | O_CREAT, 0600), MAP_PRIVATE);
    sum += run(memfd_create("code", 0), MAP_SHARED);
    int gone = open("gone.bin", O_RDWR | O_CREAT, 0600);
    unlink("gone.bin");
    sum += run(gone, MAP_PRIVATE);
    return printf("%d\n", sum) < 0;
}
