/*
 * Recursion: a search tree on the heap, whose nodes name each other by number, so that they have one size everywhere.
 * 5 2 8 1 3 7 9 take 1 2 2 3 3 3 3 calls of insert. Of the tree's 14 links 6 lead to nodes (insert wrote them), 8 are empty.
 *
 * calls: main insert 7, insert insert 10, insert make 7, main sum 1, sum sum 14, main depth 1, depth depth 14
 * flow: main make heap 4
 * flow: make insert heap 64
 * flow: make sum heap 60
 * flow: insert sum heap 24
 * flow: make depth heap 32
 * flow: insert depth heap 24
 */
#include "start.h"

struct node { int32_t key; uint32_t left, right, count; };

/* The first node only counts the others. */
OWN static uint32_t make(struct node *pool, int32_t key)
{
    uint32_t at = ++pool[0].count;
    pool[at].key = key;
    pool[at].left = 0;
    pool[at].right = 0;
    return at;
}

OWN static uint32_t insert(struct node *pool, uint32_t at, int32_t key)
{
    if (at == 0)
        return make(pool, key);
    if (key < pool[at].key)
        pool[at].left = insert(pool, pool[at].left, key);
    else
        pool[at].right = insert(pool, pool[at].right, key);
    return at;
}

OWN static int32_t sum(const struct node *pool, uint32_t at)
{
    if (at == 0)
        return 0;
    int32_t left = sum(pool, pool[at].left);
    int32_t right = sum(pool, pool[at].right);
    return left + right + pool[at].key;
}

OWN static int depth(const struct node *pool, uint32_t at)
{
    if (at == 0)
        return 0;
    int left = depth(pool, pool[at].left);
    int right = depth(pool, pool[at].right);
    return 1 + (left > right ? left : right);
}

OWN int main(void)
{
    static const int8_t keys[] = { 5, 2, 8, 1, 3, 7, 9 };
    struct node *pool = heap();
    uint32_t root = 0;
    pool[0].count = 0;
    for (int i = 0; i < 7; i++)
        root = insert(pool, root, keys[i]);
    return sum(pool, root) + depth(pool, root);
}
