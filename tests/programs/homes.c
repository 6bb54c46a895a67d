/* Shared memory that comes and goes, by how much of a file is mapped where: each scene has a writer and readers of its own.
 * homes family: a process and its children. homes many ROUNDS: more files than are remembered. homes grows FIRST THEN:
 * a file that has so many pages, and then so many.
 *
 * What is read without having been written has the file's name, or none, so readers also look beside what was written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
#define APART __attribute__((noinline, noclone))
#define SCENE(name) \
    APART static void write_##name(volatile char *p, int n) \
    { \
        for (int i = 0; i < n; i++) p[i] = i; \
    } \
    APART static void read_##name(const volatile char *p, int n) \
    { \
        for (int i = 0; i < n; i++) sum += p[i]; \
    } \
    APART static void again_##name(const volatile char *p, int n) \
    { \
        for (int i = 0; i < n; i += 4) sum += *(const volatile int *)(p + i); \
    }

static volatile long sum;
SCENE(far) SCENE(edge) SCENE(middle) SCENE(rest) SCENE(crowd) SCENE(gone) SCENE(order) SCENE(named) SCENE(pushed)
SCENE(copied) SCENE(split) SCENE(segment) SCENE(beside) SCENE(late) SCENE(grown) SCENE(parent) SCENE(child)

static char *map_at(void *at, int file, long pages, long first)
{
    int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0) | (at ? MAP_FIXED : 0);
    char *p = mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, flags, file, file < 0 ? 0 : first * PAGE);
    if (p == MAP_FAILED) exit(100);
    return p;
}

static int new_file(const char *name, long pages)
{
    int file = name ? open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) : memfd_create("home", 0);
    if (file < 0 || ftruncate(file, pages * PAGE)) exit(101);
    return file;
}

/* Room for so many pages, in which nothing is. */
static char *room(long pages)
{
    char *p = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) exit(102);
    return p;
}

/* Bytes far behind the begin of a file, and far from each other; what is mapped twice is one. */
static void of_far(void)
{
    static const long at[] = { 25000, 0, 2047, 2048, 5000, 24999 };
    int file = new_file(NULL, 26000), other = new_file(NULL, 26000);
    /* What is gone has less room than they need. */
    for (int i = 0; i < 3; i++) {
        char *small = map_at(NULL, -1, 2, 0);
        write_far(small + 1000, 100);
        munmap(small, 2 * PAGE);
    }
    for (int i = 0; i < 6; i++) {
        char *one = map_at(NULL, file, 2, at[i] > 24000 ? 24998 : at[i]);
        char *two = map_at(NULL, at[i] == 5000 ? other : file, 1, at[i]);
        write_far(one + 2040, 16);
        write_far(two + 4000, 20 + i);
        read_far(one, PAGE);
        again_far(one + PAGE, 64);
        again_far(two + 3996, 40);
        munmap(one, 2 * PAGE);
        read_far(two + 2032, 32);
        munmap(two, PAGE);
    }
    for (int i = 0; i < 6; i++) {
        char *one = map_at(NULL, file, 1, at[i]);
        read_far(one + 2000, 2096);
        munmap(one, PAGE);
    }
}

/* A load and a store across two mappings, and across the ends of one. */
APART static long load8(const char *p)
{
    long all;
    __asm__ volatile("movq %1, %0" : "=r"(all) : "m"(*(const long *)p));
    return all;
}

APART static void store8(char *p) { __asm__ volatile("movq %0, %1" : : "r"(7L), "m"(*(long *)p) : "memory"); }

static void of_edges(void)
{
    int file = new_file(NULL, 4), other = new_file(NULL, 4);
    char *p = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    write_edge(p, 6 * PAGE);
    map_at(p + PAGE, file, 1, 1);
    map_at(p + 2 * PAGE, other, 1, 0);
    map_at(p + 4 * PAGE, file, 1, 0);
    for (int k = 1; k < 6; k++) {
        char *border = p + k * PAGE;
        sum += load8(border - 3);
        write_edge(border - 6, 4);
        sum += load8(border - 5);
        store8(border - 3);
        sum += load8(border - 4);
        write_edge(border - 2, 3);
        read_edge(border - 8, 16);
        again_edge(border - 7, 16);
        store8(border - 8);
        store8(border);
        sum += load8(border - 4);
    }
    char *again = map_at(NULL, file, 2, 0);
    read_edge(again, 2 * PAGE);
    again_edge(again + PAGE - 10, 20);
    read_edge(p, 6 * PAGE);
}

/* Holes in what is mapped, and something else there. */
static void of_middle(void)
{
    int file = new_file(NULL, 8), other = new_file(NULL, 2);
    char *nameless = map_at(NULL, -1, 7, 0), *p = map_at(NULL, file, 7, 1);
    write_middle(nameless, 7 * PAGE);
    write_middle(p, 7 * PAGE);
    munmap(nameless + 2 * PAGE, 2 * PAGE);
    map_at(p + 3 * PAGE, other, 1, 0);
    write_rest(p + 3 * PAGE - 100, 200);
    read_middle(p + 2 * PAGE, 3 * PAGE);
    munmap(nameless, PAGE);
    munmap(nameless + 6 * PAGE, PAGE);
    read_middle(nameless + PAGE, PAGE);
    again_middle(nameless + 4 * PAGE, 2 * PAGE);
    munmap(nameless + PAGE, PAGE);
    read_rest(nameless + 4 * PAGE, 2 * PAGE);
    /* Of what is gone everything is; it is there as long as a piece of it is. */
    char *others = map_at(NULL, -1, 7, 0);
    read_middle(others, 7 * PAGE);
    munmap(others, 7 * PAGE);
    read_rest(nameless + 4 * PAGE, PAGE);
    munmap(nameless + 4 * PAGE, 2 * PAGE);
    others = map_at(NULL, -1, 7, 0);
    read_rest(others, 7 * PAGE);
    again_middle(others, 7 * PAGE);
    write_middle(others + PAGE, 10);
    read_middle(others, 2 * PAGE);
    munmap(p, 3 * PAGE);
    read_middle(p + 4 * PAGE, 3 * PAGE);
    char *whole = map_at(NULL, file, 8, 0);
    read_rest(whole, 8 * PAGE);
    /* Over the ends of several. */
    map_at(p + 2 * PAGE, other, 2, 0);
    again_middle(p + 2 * PAGE, 5 * PAGE);
    mmap(p + 3 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    read_rest(p + 2 * PAGE, 5 * PAGE);
}

/* Many mappings at once, in no order, each of which has bytes of its own; and many files. */
static void of_crowd(void)
{
    enum { ALL = 61, FILES = 40 };
    int file[FILES];
    char *p = room(2 * ALL);
    for (int i = 0; i < FILES; i++) file[i] = new_file(NULL, 16);
    for (int i = 0; i < ALL; i++) {
        int k = i * 23 % ALL;
        map_at(p + 2 * k * PAGE, file[i % FILES], 1, i % 15 + (i >= FILES));
        write_crowd(p + 2 * k * PAGE + 8 * i, 9 + i % 5);
    }
    for (int k = 0; k < ALL; k++) {
        read_crowd(p + 2 * k * PAGE, 520);
        again_crowd(p + 2 * k * PAGE + 256, 300);
    }
    for (int i = 0; i < ALL; i += 3) munmap(p + 2 * (i * 29 % ALL) * PAGE, PAGE);
    for (int i = 0; i < FILES; i++) {
        char *q = map_at(NULL, file[i], 16, 0);
        again_crowd(q + i % 15 * PAGE, 520);
        munmap(q, 16 * PAGE);
    }
}

/* Pages of a file with a name, mapped in no order: what nobody wrote is the file's. */
static void of_order(void)
{
    int file = new_file("homes.order", 12), other = new_file("homes.named", 12);
    if (pwrite(other, "here", 4, 5 * PAGE) != 4) exit(103);
    read_order(map_at(NULL, file, 2, 5), 2 * PAGE);
    read_order(map_at(NULL, file, 2, 1), 2 * PAGE);
    read_named(map_at(NULL, other, 1, 5), 100);
    again_order(map_at(NULL, file, 9, 0), 9 * PAGE);
    again_named(map_at(NULL, other, 12, 0), 12 * PAGE);
    read_order(map_at(NULL, file, 3, 8), 3 * PAGE);
    read_order(map_at(NULL, file, 1, 6), PAGE);
    again_order(map_at(NULL, file, 12, 0), 12 * PAGE);
    write_order(map_at(NULL, file, 1, 11), 50);
    read_order(map_at(NULL, file, 12, 0), 12 * PAGE);
}

/* The kernel copies memory into files that are memory, and within one. */
static void of_pushed(void)
{
    static char buffer[300];
    int file = new_file(NULL, 3), other = new_file(NULL, 3), plain = new_file(NULL, 1);
    char *one = map_at(NULL, file, 3, 0), *two = map_at(NULL, other, 3, 0), *ring = room(3);
    map_at(ring, other, 1, 2);
    map_at(ring + PAGE, file, 1, 2);
    write_pushed(ring + PAGE - 20, 40);
    /* From memory that is in two files, to a third and to one of them. */
    if (pwrite(file, ring + PAGE - 10, 20, 100) != 20 || pwrite(other, ring + PAGE - 20, 40, PAGE - 7) != 40) exit(104);
    read_pushed(one + 90, 40);
    again_pushed(two + PAGE - 16, 60);
    /* Stores of which the middle was overwritten, and a byte beside them. */
    for (int i = 0; i < 20; i++) store8(buffer + 8 * i);
    write_copied(buffer + 3, 2);
    write_copied(buffer + 20, 1);
    write_split(buffer + 61, 1);
    write_split(buffer + 58, 1);
    if (pwrite(file, buffer, 161, 1000) != 161 || pwrite(file, buffer + 2, 9, 2000) != 9) exit(105);
    if (pwrite(file, buffer + 59, 20, 2102) != 20) exit(106);
    again_copied(one + 1000, 164);
    read_split(one + 1000, 164);
    again_copied(one + 2000, 12);
    again_split(one + 2100, 24);
    /* It overlaps, upwards and downwards: nothing but the call itself changed what it read. */
    for (int i = 0; i < 2; i++) {
        char *from = one + 5000 + 1000 * i;
        write_pushed(from, 160);
        write_copied(from + 3, 2);
        write_split(from + 157, 3);
        if (pwrite(file, from, 160, from - one + (i ? -7 : 5)) != 160) exit(107);
        read_copied(from - 10, 200);
        again_copied(from + 1, 180);
        again_split(from - 9, 180);
    }
    /* Into the middle of what was stored there. */
    for (int i = 0; i < 8; i++) store8(one + 3000 + 8 * i);
    if (pwrite(file, buffer + 1, 10, 3003) != 10 || pwrite(file, buffer, 7, 3033) != 7) exit(108);
    read_split(one + 3000, 64);
    again_split(one + 3000, 64);
    again_copied(one + 3000, 64);
    /* Of a file that is none of these the kernel has it. */
    if (lseek(plain, 0, SEEK_SET) || write(plain, buffer, 100) != 100) exit(109);
    loff_t in = 10, out = 3100;
    if (copy_file_range(plain, &in, file, &out, 50, 0) == 50) {
        read_pushed(one + 3090, 70);
        again_pushed(one + 3090, 72);
    }
    struct iovec parts[3] = { { ring + PAGE - 3, 6 }, { buffer + 60, 11 }, { one + 3000, 20 } };
    if (pwritev(other, parts, 3, 2 * PAGE - 9) != 37) exit(110);
    read_pushed(two + 2 * PAGE - 16, 60);
    again_pushed(two + 2 * PAGE - 14, 60);
}

/* A segment is there until it was removed and nobody has it. */
static void of_segments(void)
{
    int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    if (id < 0) exit(77);
    char *p = shmat(id, NULL, 0);
    write_segment(p, 3 * PAGE);
    shmdt(p);
    p = shmat(id, NULL, 0);
    read_segment(p, 3 * PAGE);
    char *q = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    shmdt(p);
    again_segment(q, 3 * PAGE);
    shmdt(q);
    id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    p = shmat(id, NULL, 0);
    read_segment(p, 3 * PAGE);
    again_segment(p, 3 * PAGE);
    write_beside(p + 100, 30);
    read_beside(p + 90, 60);
    shmdt(p);
    shmctl(id, IPC_RMID, NULL);
    /* Its place is another one's. */
    p = map_at(NULL, -1, 3, 0);
    read_beside(p + 90, 60);
    again_segment(p, 3 * PAGE);
}

/* Memory that was shared is the program's own again. */
static void of_gone(void)
{
    int file = new_file(NULL, 4);
    char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    write_gone(p, 2 * PAGE);
    read_gone(p, 3 * PAGE);
    map_at(p, file, 4, 0);
    char *q = map_at(NULL, file, 4, 0);
    write_gone(p, 4 * PAGE);
    read_gone(p, 3 * PAGE);
    read_gone(q, 4 * PAGE);
    mmap(p + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    read_gone(p, 4 * PAGE);
    write_gone(p + PAGE, 2 * PAGE);
    again_gone(q, 4 * PAGE);
    again_gone(p, 4 * PAGE);
    munmap(p, 4 * PAGE);
    /* Moved, and something else where it was. */
    char *to = room(8), *from = q;
    q = mremap(q, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 2 * PAGE);
    mmap(from, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    read_gone(from, 4 * PAGE);
    again_gone(q, 4 * PAGE);
    write_late(q + 100, 40);
    read_late(q + 96, 60);
    again_late(from + 96, 60);
    madvise(q, PAGE, MADV_REMOVE);
    again_late(q + 96, 60);
    again_gone(q, 2 * PAGE);
}

/* Far above, as Go has its heap: beside others, and before and behind them. */
static void of_high(void)
{
    int file = new_file(NULL, 4);
    char *low = map_at(NULL, file, 4, 0), *high = map_at((void *)0x34500000000, file, 4, 0);
    write_late(high + PAGE - 20, 40);
    write_far(low + 30, 20);
    read_late(low + PAGE - 30, 60);
    read_far(high + 20, 40);
    munmap(high + PAGE, 2 * PAGE);
    again_late(low + PAGE - 30, 60);
    write_late(high + 3 * PAGE, 20);
    again_far(low + 3 * PAGE, 40);
    read_far(high, 100);
}

/* What one write of the kernel left around a byte that was then stored there is one write still, also where it has moved to. */
static void of_moved(void)
{
    int file = new_file(NULL, 1);
    char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = room(8);
    for (int i = 0; i < 3; i++) {
        if (pread(file, p + 1000, 600, 0) != 600) exit(112);
        write_late(p + 1100, 1);
        write_late(p + 1300 + i, 2 * i);
        char *q = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 2 * i * PAGE);
        if (q == MAP_FAILED) exit(113);
        for (int k = 990; k < 1400; k += 3) sum += load8(q + k);
        write_late(q + 1110, 1);
        store8(q + 1040);
        for (int k = 1000; k < 1400; k += 5) sum += load8(q + k);
        p = q;
    }
}

/* A file of which first so many pages are mapped, then more, beside another one. */
static void of_growing(long first, long then)
{
    int file = new_file(NULL, then), other = new_file(NULL, 16);
    char *p = map_at(NULL, file, first, 0), *q = map_at(NULL, other, 16, 0);
    write_grown(p, 50);
    write_grown(q, 50);
    p = map_at(NULL, file, 1, then - 1);
    write_grown(p + 4000, 60);
    write_grown(q, 50);
    for (int i = 0; i < 2; i++) {
        read_grown(p + 3900, 196);
        read_grown(q, 200);
    }
}

/* Files that the program has nowhere, and many more behind them: what was written is read later. */
static void of_many(int rounds)
{
    int kept = new_file(NULL, 6000), read_only = new_file(NULL, 4);
    char *p = map_at(NULL, kept, 1, 5999);
    write_late(p + 4092, 4);
    munmap(p, PAGE);
    p = map_at(NULL, read_only, 2, 0);
    munmap(p, 2 * PAGE);
    for (int i = 0; i < rounds; i++) munmap(map_at(NULL, -1, 1, 0), PAGE);
    for (int i = 0; i < 4; i++) {
        p = map_at(NULL, new_file(NULL, 4), 4, 0);
        read_late(p, 100);
        write_late(p + 10 * i, 10);
        again_late(p, 60);
    }
    p = map_at(NULL, kept, 1, 5999);
    read_late(p + 4000, 96);
    p = map_at(NULL, read_only, 2, 0);
    again_late(p, 2 * PAGE);
}

/* A child has what its parent wrote, wherever in a file, and at each address; then each has what it writes itself. */
static void of_family(void)
{
    static const long at[] = { 0, 3, 2047, 4096, 9000, 24999 };
    int file = new_file(NULL, 25000), other = new_file(NULL, 8);
    char *p = map_at(NULL, file, 25000, 0), *few = map_at(NULL, other, 8, 0), *nameless = map_at(NULL, -1, 9, 0);
    for (int i = 0; i < 6; i++) {
        char *here = p + at[i] * PAGE;
        write_parent(here + 2000, 100 + i);
        store8(here + 4088);
        store8(here + 4080);
        write_late(here + 4083, 2);
        read_parent(here + 2010, 30);
    }
    write_parent(few + 3 * PAGE - 20, 40);
    write_parent(nameless + 8 * PAGE, 100);
    for (int k = 0; k < 2; k++) {
        pid_t child = fork();
        if (child) {
            waitpid(child, NULL, 0);
            for (int i = 0; i < 6; i++) again_parent(p + at[i] * PAGE + 1990, 150);
            read_parent(few + 3 * PAGE - 20, 40);
            continue;
        }
        for (int i = 0; i < 6; i++) {
            read_child(p + at[i] * PAGE + 1990, 150);
            again_child(p + at[i] * PAGE + 4080, 16);
        }
        char *again = map_at(NULL, file, 2, 2047), *fresh = map_at(NULL, -1, 2, 0);
        again_child(again + 2000, 120);
        write_child(again + 2050, 30);
        read_child(p + 2047 * PAGE + 2000, 120);
        read_child(fresh, 300);
        again_child(few + 3 * PAGE - 32, 64);
        munmap(few, 8 * PAGE);
        few = map_at(NULL, other, 4, 1);
        read_child(few + 2 * PAGE - 20, 40);
        again_child(nameless + 8 * PAGE - 8, 120);
        munmap(nameless, 4 * PAGE);
        read_child(nameless + 8 * PAGE, 110);
        _exit(0);
    }
}

int main(int count, char **word)
{
    if (count > 3) of_growing(atol(word[2]), atol(word[3]));
    else if (count > 2) of_many(atoi(word[2]));
    else if (count > 1) of_family();
    else {
        of_far();
        of_edges();
        of_middle();
        of_crowd();
        of_order();
        of_pushed();
        of_segments();
        of_gone();
        of_moved();
        of_high();
    }
    return 0;
}
