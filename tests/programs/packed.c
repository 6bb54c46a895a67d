/* Writes random streams with recorders/stream/addfg_stream.h, and says what stands in them, in the words of
 * recorders/stream/dump.py. packed STREAM SEED; gcc -I recorders/stream */
#include <stdio.h>
#include <stdlib.h>

static unsigned long reallocations;

static void *again(void *p, unsigned long n)
{
    reallocations++;
    return realloc(p, n);
}

#define ADDFG_REALLOC(p, n) again((p), (n))
#include "addfg_stream.h"

enum { BLOCKS = 600, MOST = 6 };

static struct {
    addfg_u64 address[MOST];
    addfg_u8 sizes[MOST];
    addfg_access access[MOST];
    addfg_u32 instructions, accesses;
    /* Fields before each access. */
    addfg_u32 fields[MOST + 1];
} block[BLOCKS];
static struct { addfg_u32 block, instructions, accesses; } path[BLOCKS * MOST];
static addfg_u32 blocks, paths;

static addfg_u64 state;

static addfg_u64 below(addfg_u64 n)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % n;
}

static addfg_u64 wide(void) { return below(4) ? 0x4000 + below(5000) : (below(1u << 31) << 33) ^ below(1u << 31) << 8 ^ below(256); }

static int taken(void *to, const void *bytes, addfg_u32 length) { return fwrite(bytes, 1, length, to) != length; }

/* The definitions up to here, as a recorder keeps them. */
static addfg_bytes known;

static void keep(const addfg_stream *s)
{
    addfg__copy(addfg__room(&known, s->definitions.length), s->definitions.bytes, s->definitions.length);
    known.length += s->definitions.length;
}

static void define(addfg_stream *s)
{
    addfg_u8 code[MOST * 15];
    addfg_u32 b = blocks, n = 1 + below(MOST), k = below(MOST + 1), fields = 0, at = 0;
    addfg_u64 next = wide();
    for (unsigned i = 0; i < sizeof code; i++) code[i] = below(256);
    for (addfg_u32 i = 0; i < n; i++) {
        if (!below(6)) next += below(2) ? 5 : -300;
        block[b].address[i] = next;
        next += block[b].sizes[i] = 1 + below(15);
    }
    for (addfg_u32 i = 0; i < k; i++) {
        addfg_access *a = block[b].access + i;
        addfg_access new = { at += below(n - at), 1u << below(6), below(2), below(4), 0, 0 };
        if (new.from == ADDFG_SAME && !fields) new.from = ADDFG_FIELD;
        if (new.from == ADDFG_SAME) new.field = below(fields), new.value = below(2) ? below(300) : -below(70000);
        if (new.from == ADDFG_CONSTANT) new.value = wide();
        *a = new;
        block[b].fields[i] = fields;
        fields += new.from == ADDFG_FIELD || new.from == ADDFG_OPTIONAL;
    }
    block[b].fields[k] = fields;
    block[b].instructions = n;
    block[b].accesses = k;
    if (addfg_block(s, n, block[b].address, block[b].sizes, code, k, block[b].access) != b) exit(2);
    blocks++;
    for (addfg_u32 i = 1; i <= n; i++) {
        addfg_u32 before = 0;
        if (i < n && below(2)) continue;
        while (before < k && block[b].access[before].instruction < i) before++;
        path[paths].block = b;
        path[paths].instructions = i;
        path[paths].accesses = before;
        if (addfg_path(s, b, i, before, block[b].fields[before]) != paths) exit(2);
        paths++;
    }
}

static addfg_u64 steps;

/* A run of a path into the buffer; and what it is. */
static addfg_u8 *ran(addfg_u8 *o, addfg_u32 p)
{
    addfg_u64 field[MOST];
    addfg_u32 b = path[p].block, n = 0, k = 0;
    __builtin_memcpy(o, &p, 4);
    o += 4;
    for (addfg_u32 i = 0; i < path[p].instructions; i++) {
        printf("I  %08llx,%u\n", block[b].address[i], block[b].sizes[i]);
        for (; k < path[p].accesses && block[b].access[k].instruction == i; k++) {
            const addfg_access *a = block[b].access + k;
            addfg_u64 at = a->value;
            if (a->from == ADDFG_SAME) {
                /* Of one that was not done it goes on from all ones. */
                at += field[a->field];
            } else if (a->from != ADDFG_CONSTANT) {
                at = a->from == ADDFG_OPTIONAL && !below(3) ? ADDFG_NOT_DONE : wide();
                field[n++] = at;
                __builtin_memcpy(o, &at, 8);
                o += 8;
            }
            if (a->from != ADDFG_OPTIONAL || at != ADDFG_NOT_DONE) printf(" %c %08llx,%u\n", a->is_write ? 'S' : 'L', at, a->size);
        }
    }
    steps += path[p].instructions;
    return o;
}

static addfg_u8 *happened(addfg_u8 *o)
{
    addfg_u32 kind = ADDFG_EVENT | ADDFG_MARKER, length;
    addfg_u64 number = below(3) ? below(200) : wide();
    addfg_u8 *end = addfg__varint(o + 8, number);
    printf("# marker 0x%llx \n", number);
    length = end - o - 8;
    __builtin_memcpy(o, &kind, 4);
    __builtin_memcpy(o + 4, &length, 4);
    return end;
}

/* Pieces, more than after which what is predicted begins anew. */
static void pieces(addfg_stream *s, addfg_u32 count)
{
    static addfg_u8 buffer[1 << 16];
    addfg_u32 before = below(paths ? paths : 1);
    while (count--) {
        addfg_u8 *o = buffer;
        for (addfg_u32 n = below(3); n && blocks < BLOCKS; n--) define(s);
        for (addfg_u32 n = below(60); n && paths; n--) {
            addfg_u32 p = below(paths);
            /* Mostly what followed before. */
            if (below(4)) p = (before * 7 + below(2)) % paths;
            before = p;
            o = below(9) ? ran(o, p) : happened(o);
        }
        keep(s);
        addfg_flush(s, buffer, o);
        if (s->definitions.length) exit(2);
    }
}

int main(int count, char **names)
{
    addfg_stream s;
    FILE *file = fopen(names[1], "wb");
    if (!file) return 2;
    state = strtoull(names[2], 0, 10);
    addfg_begin(&s, taken, file, 62, 64);
    pieces(&s, 150);
    addfg_end(&s, 7);
    printf("# end 7\n");
    /* A process that goes on with what this one has defined. */
    addfg_fork(&s, &known);
    printf("# stream\n");
    pieces(&s, 70);
    addfg_end(&s, 300);
    printf("# end 300\n");
    if (reallocations > 200 || fclose(file)) return 2;
    /* What cannot be written is noted, and nothing more is written. */
    file = fopen("/dev/full", "wb");
    if (!file) return 0;
    setvbuf(file, 0, _IONBF, 0);
    addfg_begin_telling(&s, taken, file, 62, 64, 3);
    return s.failed ? 0 : 2;
}
