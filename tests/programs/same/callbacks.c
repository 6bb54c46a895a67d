/*
 * Functions that are called through pointers: six records are sorted by two orders, each the opposite of how they stand, so
 * that each of the 15 comparisons swaps. Of the 30 records that are compared first 6 are as they were filled.
 *
 * calls: main fill 1, main sort 2, sort by_key 15, sort by_name 15, sort swap 30, main each 1, each add 6
 * flow: fill by_key global 24
 * flow: swap by_key global 96
 * flow: swap by_name global 30
 * flow: fill swap global 48
 * flow: swap add global 24
 * flow: add main global 4
 */
#include "start.h"

struct record { int32_t key; char name[4]; };
typedef int compare(const struct record *, const struct record *);

static struct record table[6];
static int32_t seen;

OWN static void fill(struct record *table, int count)
{
    for (int i = 0; i < count; i++) {
        table[i].key = count - i;
        table[i].name[0] = 'a' + i;
        table[i].name[1] = table[i].name[2] = table[i].name[3] = 0;
    }
}

OWN static int by_key(const struct record *a, const struct record *b)
{
    return a->key > b->key;
}

OWN static int by_name(const struct record *a, const struct record *b)
{
    return a->name[0] > b->name[0];
}

OWN static void swap(struct record *a, struct record *b)
{
    struct record first = *a;
    *a = *b;
    *b = first;
}

OWN static int sort(struct record *table, int count, compare *greater)
{
    int swaps = 0;
    for (int end = count - 1; end > 0; end--)
        for (int i = 0; i < end; i++)
            if (greater(&table[i], &table[i + 1])) {
                swap(&table[i], &table[i + 1]);
                swaps++;
            }
    return swaps;
}

OWN static void add(const struct record *record)
{
    seen += record->key;
}

OWN static void each(const struct record *table, int count, void (*visit)(const struct record *))
{
    for (int i = 0; i < count; i++)
        visit(&table[i]);
}

OWN int main(void)
{
    fill(table, 6);
    int swaps = sort(table, 6, by_key) + sort(table, 6, by_name);
    each(table, 6, add);
    return swaps + seen;
}
