/* passing ROUNDS: shared memory that comes and goes: without a name, of files, and segments. passing far
 * [BYTES]: a page that lies so far behind the begin of its file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define BYTES 4096

static volatile long sum;

__attribute__((noinline)) static void writes(volatile char *p)
{
    for (int i = 0; i < BYTES; i += 7) p[i] = i;
}

__attribute__((noinline)) static void reads(volatile char *p)
{
    for (int i = 0; i < BYTES; i += 5) sum += p[i];
}

int main(int count, char **word)
{
    int rounds = count > 1 ? atoi(word[1]) : 100;
    char name[30];
    if (count > 1 && word[1][0] == 'f') {
        off_t far = count > 2 ? atol(word[2]) : 1L << 40;
        int file = memfd_create("far", 0);
        if (ftruncate(file, far + BYTES)) return 1;
        char *p = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, far);
        writes(p);
        reads(p);
        return 0;
    }
    for (int i = 0; i < rounds; i++) {
        char *p = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        writes(p);
        reads(p);
        munmap(p, BYTES);
        snprintf(name, sizeof name, "passing.%d", i % 100);
        int file = open(name, O_RDWR | O_CREAT, 0600);
        if (ftruncate(file, BYTES)) return 1;
        p = mmap(0, BYTES, PROT_READ, MAP_SHARED, file, 0);
        reads(p);
        munmap(p, BYTES);
        close(file);
        int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
        p = shmat(id, 0, 0);
        shmctl(id, IPC_RMID, 0);
        writes(p);
        reads(p);
        shmdt(p);
    }
    return 0;
}
