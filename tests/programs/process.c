/* What a process does beside running instructions: maps files, moves and unmaps memory, loads a
 * library, forks, ends with a code of its own. Each part hands on a number of bytes of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define APART __attribute__((noinline))

APART static int sum(const volatile unsigned char *bytes, long n)
{
    int total = 0;
    for (long i = 0; i < n; i++) total += bytes[i];
    return total;
}

APART static int sum_file(const unsigned char *bytes, long n) { return sum(bytes, n) + 1; }

APART static void fill(volatile unsigned char *bytes, long n)
{
    for (long i = 0; i < n; i++) bytes[i] = (unsigned char)i;
}

APART static void fill_lost(volatile unsigned char *bytes, long n)
{
    for (long i = 0; i < n; i++) bytes[i] = 1;
}

APART static int read_moved(const volatile unsigned char *bytes, long n)
{
    int total = 0;
    for (long i = 0; i < n; i++) total += bytes[i];
    return total;
}

APART static int read_fresh(const volatile unsigned char *bytes, long n)
{
    int total = 0;
    for (long i = 0; i < n; i++) total += bytes[i];
    return total;
}

APART static int read_filled(const volatile unsigned char *bytes, long n)
{
    int total = 0;
    for (long i = 0; i < n; i++) total += bytes[i];
    return total;
}

APART static int in_child(int n) { return n + 1; }

static unsigned char *map(void *where, int flags, int file)
{
    void *at = mmap(where, 64 * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
    if (at == MAP_FAILED) exit(100);
    return at;
}

int main(int arguments, char **argument)
{
    if (arguments < 2) return 101;
    int file = open(argument[1], O_RDONLY);
    int total = sum_file(map(0, MAP_PRIVATE, file), 1000);

    unsigned char *moved = map(0, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    fill(moved, 600);
    unsigned char *place = map(0, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    moved = mremap(moved, 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    total += read_moved(moved, 600);
    fill(moved, 600);
    if (read(file, moved, 400) != 400) return 102;
    total += read_filled(moved, 600);

    unsigned char *lost = map(0, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    fill_lost(lost, 500);
    munmap(lost, 64 * PAGE);
    total += read_fresh(map(lost, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1), 500);

    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = (double (*)(double))dlsym(library, "cbrt");
    total += (int)root(27.0);

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(in_child(4));
    int status;
    waitpid(child, &status, 0);
    printf("%d %d\n", total, WEXITSTATUS(status));
    fflush(stdout);
    if (arguments > 2) kill(getpid(), 9);
    return 3;
}
