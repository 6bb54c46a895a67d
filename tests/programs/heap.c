/* Heap allocations whose traffic is known from the source: by place that asks for them, by function that uses them. Volatile, so that
   each access of the source is one of the run. */
#include <stdlib.h>

struct node {
    struct node *volatile next;
    volatile int key, count;
};

static volatile int result;

/* 20 nodes of 16 bytes: next and key are written, 12 bytes each; count is not. */
__attribute__((noinline)) static struct node *build(void) {
    struct node *head = 0;
    for (int i = 0; i < 20; i++) {
        struct node *n = malloc(sizeof *n);
        n->next = head;
        n->key = i;
        head = n;
    }
    return head;
}

/* Reads next and key of each. */
__attribute__((noinline)) static int sum(const struct node *n) {
    int s = 0;
    for (; n; n = n->next) s += n->key;
    return s;
}

/* Reads next of each. */
__attribute__((noinline)) static void drop(struct node *n) {
    while (n) {
        struct node *next = n->next;
        free(n);
        n = next;
    }
}

/* 50 ints, of which it writes the first 30, twice each of them. */
__attribute__((noinline)) static volatile int *table(void) {
    volatile int *t = calloc(50, sizeof *t);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 30; i++) t[i] = i + pass;
    return t;
}

/* Reads the first 40: 10 of them are calloc's zeros. */
__attribute__((noinline)) static int look(volatile int *t) {
    int s = 0;
    for (int i = 0; i < 40; i++) s += t[i];
    return s;
}

/* 100 bytes, all written; then 300 for them, of which those behind the 100 are written. */
__attribute__((noinline)) static volatile unsigned char *grow(void) {
    volatile unsigned char *b = malloc(100);
    for (int i = 0; i < 100; i++) b[i] = 1;
    b = realloc((void *)b, 300);
    for (int i = 100; i < 300; i++) b[i] = 2;
    return b;
}

/* Reads every second one of the 300: bytes that the first allocation was given are read in the second. */
__attribute__((noinline)) static int half(volatile unsigned char *b) {
    int s = 0;
    for (int i = 0; i < 300; i += 2) s += b[i];
    return s;
}

/* The same place asks again and again, and mostly gets the same memory: 10 of 64 bytes; 8 bytes of each are written, 4 read. */
__attribute__((noinline)) static int again(void) {
    int s = 0;
    for (int i = 0; i < 10; i++) {
        volatile int *p = malloc(64);
        p[0] = i;
        p[1] = i;
        s += p[0];
        free((void *)p);
    }
    return s;
}

int main(void) {
    struct node *list = build();
    int s = sum(list);
    drop(list);
    volatile int *t = table();
    s += look(t);
    free((void *)t);
    volatile unsigned char *b = grow();
    s += half(b);
    free((void *)b);
    s += again();
    void *aligned = 0;
    if (posix_memalign(&aligned, 256, 1000) == 0) *(volatile long *)aligned = s;
    result = s;
    return 0;
}
