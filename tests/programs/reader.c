/* A thread reads a file, which is little of the work: the others do what takes time. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
#define STAGE __attribute__((noinline, noclone)) static
enum { N = 16384 };
static unsigned table[N], other[N];
static unsigned char text[64], key[64];
static const char *name;

static void *reader(void *unused) {
    int file = open(name, O_RDONLY);
    if (read(file, text, sizeof text) == sizeof text)
        for (unsigned i = 0; i < sizeof text; i++)
            key[i] = text[i] ^ 85;
    close(file);
    return unused;
}

STAGE void fill(unsigned *to) {
    for (unsigned i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            to[i] = to[i] * 31 + i;
}

STAGE void spread(unsigned *to, const unsigned *from) {
    for (unsigned i = 0; i < N; i++)
        to[i * 5 % N] = from[i] ^ 7;
}

STAGE unsigned digest(const unsigned *from) {
    unsigned sum = 0;
    for (unsigned i = 0; i < N; i++)
        sum = sum * 33 + from[i];
    return sum + key[sum & 63];
}

int main(int argc, char **argv) {
    pthread_t thread;
    name = argv[argc - 1];
    pthread_create(&thread, NULL, reader, NULL);
    pthread_join(thread, NULL);
    fill(table), spread(other, table);
    printf("%u\n", digest(other));
    return 0;
}
