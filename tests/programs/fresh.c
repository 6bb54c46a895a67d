/* Reads what nobody wrote: fresh pages, fresh allocations, a file; and a file as large as is asked for. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noinline)) static void use(const volatile char *p, int n)
{
    for (int i = 0; i < n; i++) sum += p[i];
}

__attribute__((noinline)) static void use_pages(const volatile char *p) { use(p, 10); }

__attribute__((noinline)) static void use_heap(const volatile char *p) { use(p, 20); }

__attribute__((noinline)) static void use_large(const volatile char *p, size_t n)
{
    sum += p[0] + p[n / 2] + p[n - 1];
}

int main(int argc, char **argv)
{
    use_pages(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    use_heap(malloc(100000));
    size_t size = strtoul(argv[2], NULL, 0), done = 0;
    char *all = malloc(size);
    int file = open(argv[1], O_RDONLY), out = open("/dev/null", O_WRONLY);
    while (done < size) {
        ssize_t n = read(file, all + done, size - done);
        if (n <= 0) return 1;
        done += n;
    }
    use_large(all, size);
    return write(out, all, size) == (ssize_t)size ? 0 : 1;
}
