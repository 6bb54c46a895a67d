/* Allocates, uses and frees in several functions, and says so itself: a line for each allocation that it gets or gives back, by write(),
   which needs no memory of its own. tests/it/allocations.rs compares. */
#define _GNU_SOURCE
#include "say.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *got(const char *what, void *p, size_t bytes) {
    say(what, p, bytes);
    return p;
}

static void give(void *p) {
    say("free", p, 0);
    free(p);
}

struct node {
    struct node *next;
    int value;
};

static volatile unsigned sum;

__attribute__((noinline)) static struct node *list(int count) {
    struct node *head = NULL;
    for (int i = 0; i < count; i++) {
        struct node *n = got("malloc", malloc(sizeof *n), sizeof *n);
        n->next = head;
        n->value = i;
        head = n;
    }
    return head;
}

__attribute__((noinline)) static void walk(const struct node *n) {
    for (; n; n = n->next)
        sum += n->value;
}

__attribute__((noinline)) static void drop(struct node *n) {
    while (n) {
        struct node *next = n->next;
        give(n);
        n = next;
    }
}

/* Ends in a jump to malloc where the compiler can. */
__attribute__((noinline)) static void *tail(size_t bytes) {
    return malloc(bytes);
}

__attribute__((noinline)) static unsigned table(size_t count) {
    unsigned *t = got("calloc", calloc(count, sizeof *t), count * sizeof *t), all = 0;
    for (size_t i = 0; i < count; i += 2)
        t[i] = i;
    for (size_t i = 0; i < count / 2; i++)
        all += t[i];
    give(t);
    return all;
}

/* Grows; what was written moves along. */
__attribute__((noinline)) static unsigned grow(void) {
    size_t room = 8, used = 0;
    unsigned char *p = got("malloc", malloc(room), room);
    unsigned all = 0;
    for (int i = 0; i < 3000; i++) {
        if (used == room) {
            room *= 2;
            say("free", p, 0);
            p = got("realloc", realloc(p, room), room);
            /* In the way, so that it has to move. */
            if (room == 64)
                sum += (uintptr_t)got("malloc", malloc(40), 40) & 1;
        }
        p[used++] = i;
    }
    for (size_t i = 0; i < used / 2; i++)
        all += p[i];
    say("free", p, 0);
    p = got("realloc", realloc(p, 100), 100);
    all += p[99];
    give(p);
    return all;
}

__attribute__((noinline)) static void aligned(void) {
    void *p = NULL;
    if (posix_memalign(&p, 64, 200))
        _exit(4);
    got("posix_memalign", p, 200);
    memset(p, 1, 100);
    void *q = got("aligned_alloc", aligned_alloc(128, 256), 256), *r = got("memalign", memalign(32, 50), 50);
    memcpy(q, p, 50);
    give(p);
    give(r);
    give(q);
    /* Has its own mapping. */
    unsigned char *big = got("malloc", malloc(1 << 20), 1 << 20);
    big[0] = big[5000] = big[(1 << 20) - 1] = 7;
    sum += big[5000];
    give(big);
}

/* Asked for by the library: strdup. */
__attribute__((noinline)) static char *copy(const char *text) {
    char *p = strdup(text);
    return got("malloc", p, strlen(text) + 1);
}

int main(void) {
    struct node *a = list(5);
    walk(a);
    sum += table(100);
    char *text = copy("fourteen bytes");
    struct node *b = list(3);
    drop(a);
    sum += grow();
    aligned();
    unsigned *last = got("malloc", tail(12), 12);
    last[1] = sum;
    last[1] += text[3];
    void *none = got("malloc", malloc(0), 0);
    free(NULL);
    walk(b);
    give(none);
    void *volatile null = NULL;
    void *fresh = got("realloc", realloc(null, 33), 33);
    /* Too much: nothing is given, and the old one stays. */
    volatile size_t much = (size_t)-1 - 100;
    if (malloc(much) || realloc(fresh, much))
        _exit(5);
    memset(fresh, 1, 33);
    volatile size_t nothing = 0;
    say("free", fresh, 0);
    if (realloc(fresh, nothing))
        _exit(6);
    give(text);
    /* b and last are never freed. */
    return 0;
}
