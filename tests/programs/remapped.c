/* Reads a file where it is mapped, then has memory of its own there. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 4096 };

__attribute__((noinline)) static int read_file(const unsigned char *at)
{
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += at[i];
    return sum;
}

__attribute__((noinline)) static void fill(unsigned char *at)
{
    for (int i = 0; i < 64; i++) at[i] = i;
}

__attribute__((noinline)) static int sum(const unsigned char *at)
{
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += at[i];
    return sum;
}

int main(int arguments, char **argument)
{
    (void)arguments;
    int file = open(argument[0], O_RDONLY);
    void *at = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
    int from_file = read_file(at);
    munmap(at, BYTES);
    void *own = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fill(own);
    printf("%d\n", from_file > 0 && own == at ? sum(own) : -1);
    return 0;
}
