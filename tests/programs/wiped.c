/* What a fork wipes (MADV_WIPEONFORK), and what it does not. Prints how much each function has read that another one wrote. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3 * 4096, USED = 5000 };

__attribute__((noinline)) static void fill(char *p)
{
    for (int i = 0; i < USED; i++) p[i] = 1;
}

/* The memory is zeros where nobody wrote. */
#define TAKE(name)                                                              \
    __attribute__((noinline)) static void take_##name(const volatile char *p)   \
    {                                                                           \
        int n = 0;                                                              \
        for (int i = 0; i < USED; i++) n += p[i];                               \
        printf(#name " %d\n", n);                                               \
        fflush(stdout);                                                         \
    }

TAKE(parent)
TAKE(wiped)
TAKE(half)
TAKE(kept)
TAKE(undone)
TAKE(moved)
TAKE(grandchild)

static char *memory(int advice)
{
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (advice) madvise(p, SIZE, advice);
    return p;
}

int main(void)
{
    char *kept = memory(0), *wiped = memory(MADV_WIPEONFORK), *undone = memory(MADV_WIPEONFORK);
    char *moved = memory(MADV_WIPEONFORK), *half = memory(0);
    madvise(undone, SIZE, MADV_KEEPONFORK);
    madvise(half + 4096, 4096, MADV_WIPEONFORK);
    moved = mremap(moved, SIZE, 4 * SIZE, MREMAP_MAYMOVE);
    fill(kept);
    fill(wiped);
    fill(undone);
    fill(moved);
    fill(half);
    if (!fork()) {
        take_kept(kept);
        take_wiped(wiped);
        take_undone(undone);
        take_moved(moved);
        take_half(half);
        fill(wiped);
        if (!fork()) {
            take_grandchild(wiped);
            _exit(0);
        }
        wait(NULL);
        _exit(0);
    }
    wait(NULL);
    take_parent(wiped);
    return 0;
}
