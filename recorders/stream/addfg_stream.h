/* Writes addfg's stream (docs/stream.md): one header, no library, for recorders and simulators.
 *
 * A program is told of as *blocks* (straight code with its memory accesses), defined once; of
 * *paths*, the beginnings of a block up to where it was left; and of *runs*: a path and the
 * addresses that its accesses touched. Runs go into a buffer as they happen (addfg_run, or by the
 * recorder's own generated code); addfg_flush packs the buffer into a checked piece of the file.
 *
 * Before including: ADDFG_REALLOC(pointer, bytes) if realloc() is not to be used.
 *
 * Copyright the addfg authors. MIT or Apache-2.0, as you like.
 */
#ifndef ADDFG_STREAM_H
#define ADDFG_STREAM_H

#ifndef ADDFG_REALLOC
#include <stdlib.h>
#define ADDFG_REALLOC(p, n) realloc((p), (n))
#endif

typedef unsigned char addfg_u8;
typedef unsigned short addfg_u16;
typedef unsigned int addfg_u32;
typedef unsigned long long addfg_u64;

enum { ADDFG_VERSION = 1 };
enum { ADDFG_DEFINITIONS = 1, ADDFG_RECORDS = 2, ADDFG_END = 3 };
enum { ADDFG_RESET = 1 };

/* Kinds of events; their payloads are in docs/stream.md. */
enum {
    ADDFG_THREAD = 1,
    ADDFG_THREAD_START = 2,
    ADDFG_THREAD_END = 3,
    ADDFG_MAP = 4,
    ADDFG_UNMAP = 5,
    ADDFG_SYSCALL = 6,
    ADDFG_KERNEL_READ = 7,
    ADDFG_KERNEL_WRITE = 8,
    ADDFG_SYSCALL_END = 9,
    ADDFG_DESCRIPTOR = 10,
    ADDFG_SIGNAL = 11,
    ADDFG_SIGNAL_END = 12,
    ADDFG_MARKER = 13,
    ADDFG_STACK = 14,
    ADDFG_PROCESS = 15,
    ADDFG_PROTECT = 16,
    ADDFG_MOVE = 17,
    ADDFG_EXEC = 18,
    ADDFG_GAP = 19,
    ADDFG_ALLOCATE = 20,
    ADDFG_FREE = 21,
    ADDFG_REALLOCATE = 22,
    ADDFG_SHARE = 23,
    ADDFG_FRESH = 24,
    ADDFG_FILE_WRITE = 25,
    ADDFG_FORK = 26,
    ADDFG_INHERIT = 27,
    ADDFG_EMULATOR = 28,
    ADDFG_DEVICE = 29,
    ADDFG_PROBLEM = 34,
    ADDFG_STACK_POINTER = 38
};

/* Flags of the header. */
enum {
    /* From its first step on the stream tells of every byte of memory that anybody but an instruction changes. */
    ADDFG_TELLS_ALL = 1,
    /* A machine was recorded: the code that system calls enter is in the stream as well. */
    ADDFG_WHOLE_MACHINE = 2
};

/* How an access gets its address. */
enum {
    ADDFG_FIELD = 0,    /* it is the run's next field */
    ADDFG_SAME = 1,     /* an earlier field of the run (`field`), plus `value` */
    ADDFG_CONSTANT = 2, /* `value` */
    ADDFG_OPTIONAL = 3  /* as ADDFG_FIELD; the field is ADDFG_NOT_DONE if the access was not made */
};
#define ADDFG_NOT_DONE (~0ULL)

typedef struct {
    addfg_u32 instruction; /* index within the block */
    addfg_u32 size;        /* bytes */
    addfg_u8 is_write;
    addfg_u8 from;         /* ADDFG_FIELD and the like */
    addfg_u32 field;
    addfg_u64 value;       /* a difference in two's complement, or an address */
} addfg_access;

/* Returns 0 when the bytes were taken; otherwise nothing is written any more. */
typedef int (*addfg_write)(void *context, const void *bytes, addfg_u32 length);

typedef struct {
    addfg_u32 fields, first_field, steps;
    addfg_u32 next[2]; /* paths that followed, last one first */
} addfg_path_state;

typedef struct {
    addfg_u8 *bytes;
    addfg_u32 length, room;
} addfg_bytes;

typedef struct {
    addfg_write write;
    void *context;
    int failed;
    addfg_u16 machine;
    addfg_u8 bits, flags;
    addfg_u32 blocks, paths, path_room, fields, field_room;
    addfg_path_state *path;
    addfg_u64 *last;
    addfg_bytes definitions, packed;
    addfg_u32 before; /* path of the run before, ADDFG_NO_PATH at a reset */
    addfg_u32 since_reset;
    addfg_u64 steps, runs;
    addfg_u32 crc[8][256];
} addfg_stream;

#define ADDFG_NO_PATH 0xffffffffu
/* The first word of an event among the runs of a buffer: its kind in the low byte. */
#define ADDFG_EVENT 0x80000000u
/* Pieces after which what is predicted begins anew, so that a reader can begin there. */
#define ADDFG_RESET_EVERY 64

static inline void addfg__copy(void *to, const void *from, addfg_u32 n)
{
    addfg_u8 *t = (addfg_u8 *)to;
    const addfg_u8 *f = (const addfg_u8 *)from;
    while (n--) *t++ = *f++;
}

static inline addfg_u32 addfg__get32(const addfg_u8 *p) { addfg_u32 v; __builtin_memcpy(&v, p, 4); return v; }
static inline addfg_u64 addfg__get64(const addfg_u8 *p) { addfg_u64 v; __builtin_memcpy(&v, p, 8); return v; }

static inline addfg_u8 *addfg__varint(addfg_u8 *o, addfg_u64 v)
{
    while (v >= 128) {
        *o++ = (addfg_u8)(v | 128);
        v >>= 7;
    }
    *o++ = (addfg_u8)v;
    return o;
}

static inline addfg_u64 addfg__zigzag(addfg_u64 d) { return d << 1 ^ (addfg_u64)((long long)d >> 63); }

static addfg_u8 *addfg__room(addfg_bytes *b, addfg_u32 more)
{
    if (b->room - b->length < more) {
        addfg_u32 room = b->room * 2 > b->length + more ? b->room * 2 : b->length + more;
        b->bytes = (addfg_u8 *)ADDFG_REALLOC(b->bytes, room);
        b->room = room;
    }
    return b->bytes + b->length;
}

/* CRC-32 as in zlib, eight bytes at a time. */
static void addfg__crc_tables(addfg_stream *s)
{
    for (addfg_u32 i = 0; i < 256; i++) {
        addfg_u32 c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        s->crc[0][i] = c;
    }
    for (addfg_u32 i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            s->crc[t][i] = s->crc[t - 1][i] >> 8 ^ s->crc[0][s->crc[t - 1][i] & 255];
}

static addfg_u32 addfg__crc(const addfg_stream *s, addfg_u32 crc, const addfg_u8 *p, addfg_u32 n)
{
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        addfg_u32 a = addfg__get32(p) ^ crc, b = addfg__get32(p + 4);
        crc = s->crc[7][a & 255] ^ s->crc[6][a >> 8 & 255] ^ s->crc[5][a >> 16 & 255] ^ s->crc[4][a >> 24]
            ^ s->crc[3][b & 255] ^ s->crc[2][b >> 8 & 255] ^ s->crc[1][b >> 16 & 255] ^ s->crc[0][b >> 24];
    }
    while (n--) crc = crc >> 8 ^ s->crc[0][(crc ^ *p++) & 255];
    return ~crc;
}

static void addfg__piece(addfg_stream *s, int kind, int flags, const addfg_bytes *b, addfg_u64 steps)
{
    addfg_u8 head[32] = "ADFG";
    head[8] = (addfg_u8)kind;
    head[9] = (addfg_u8)flags;
    __builtin_memcpy(head + 12, &b->length, 4);
    __builtin_memcpy(head + 16, &s->steps, 8);
    __builtin_memcpy(head + 24, &steps, 8);
    addfg_u32 crc = addfg__crc(s, addfg__crc(s, 0, head + 8, 24), b->bytes, b->length);
    __builtin_memcpy(head + 4, &crc, 4);
    if (!s->failed)
        s->failed = s->write(s->context, head, 32) || (b->length && s->write(s->context, b->bytes, b->length));
}

static void addfg__header(addfg_stream *s)
{
    addfg_u8 head[16] = "addfg\r\n\x1a";
    addfg_u16 version = ADDFG_VERSION;
    __builtin_memcpy(head + 8, &version, 2);
    __builtin_memcpy(head + 10, &s->machine, 2);
    head[12] = s->bits;
    head[13] = s->flags;
    s->failed = s->write(s->context, head, 16);
}

/* Begins a stream. `machine`: e_machine of the ELF files that ran; `bits`: 32 or 64; `flags`: ADDFG_TELLS_ALL, ADDFG_WHOLE_MACHINE. */
static inline void addfg_begin_telling(addfg_stream *s, addfg_write write, void *context, addfg_u16 machine, addfg_u8 bits, addfg_u8 flags)
{
    addfg_stream empty = { 0 };
    *s = empty;
    s->write = write;
    s->context = context;
    s->machine = machine;
    s->bits = bits;
    s->flags = flags;
    s->before = ADDFG_NO_PATH;
    addfg__crc_tables(s);
    addfg__header(s);
}

static inline void addfg_begin(addfg_stream *s, addfg_write write, void *context, addfg_u16 machine, addfg_u8 bits)
{
    addfg_begin_telling(s, write, context, machine, bits, 0);
}

/* Begins another stream with the blocks and paths of this one: a forked process has the code that
 * was made for its parent. `known`: the payloads of all definitions written so far; none waits. */
static inline void addfg_fork(addfg_stream *s, const addfg_bytes *known)
{
    s->steps = s->runs = s->since_reset = 0;
    s->before = ADDFG_NO_PATH;
    addfg__header(s);
    if (known->length) addfg__piece(s, ADDFG_DEFINITIONS, 0, known, 0);
}

/* Defines a block; gives its number. The instructions' bytes stand one behind the other. Their
 * addresses mostly do, too; a recorder that unrolls loops has instructions that do not. */
static addfg_u32 addfg_block(addfg_stream *s, addfg_u32 instructions, const addfg_u64 *address,
                             const addfg_u8 *sizes, const addfg_u8 *bytes, addfg_u32 accesses, const addfg_access *access)
{
    addfg_bytes *d = &s->definitions;
    addfg_u8 *o = addfg__room(d, 64 + instructions * 40 + accesses * 40);
    addfg_u64 expected = 0;
    *o++ = 1;
    o = addfg__varint(o, instructions);
    for (addfg_u32 i = 0; i < instructions; i++) {
        addfg_u64 jump = address[i] - expected;
        *o++ = (addfg_u8)(sizes[i] | (jump ? 0x80 : 0));
        if (jump) o = addfg__varint(o, addfg__zigzag(jump));
        expected = address[i] + sizes[i];
        addfg__copy(o, bytes, sizes[i]);
        o += sizes[i];
        bytes += sizes[i];
    }
    o = addfg__varint(o, accesses);
    for (addfg_u32 i = 0; i < accesses; i++) {
        const addfg_access *a = access + i;
        o = addfg__varint(o, a->instruction);
        *o++ = (addfg_u8)(a->is_write | a->from << 1);
        o = addfg__varint(o, a->size);
        if (a->from == ADDFG_SAME) o = addfg__varint(o, a->field);
        if (a->from == ADDFG_SAME || a->from == ADDFG_CONSTANT) o = addfg__varint(o, addfg__zigzag(a->value));
    }
    d->length = (addfg_u32)(o - d->bytes);
    return s->blocks++;
}

/* Defines the beginning of a block up to a place where it can be left; gives its number. */
static addfg_u32 addfg_path(addfg_stream *s, addfg_u32 block, addfg_u32 instructions, addfg_u32 accesses, addfg_u32 fields)
{
    addfg_bytes *d = &s->definitions;
    addfg_u8 *o = addfg__room(d, 32);
    *o++ = 2;
    o = addfg__varint(o, block);
    o = addfg__varint(o, instructions);
    o = addfg__varint(o, accesses);
    d->length = (addfg_u32)(o - d->bytes);
    if (s->paths == s->path_room) {
        s->path_room = s->path_room ? s->path_room * 2 : 4096;
        s->path = (addfg_path_state *)ADDFG_REALLOC(s->path, s->path_room * sizeof *s->path);
    }
    if (s->fields + fields > s->field_room) {
        s->field_room = (s->fields + fields) * 2 + 4096;
        s->last = (addfg_u64 *)ADDFG_REALLOC(s->last, s->field_room * sizeof *s->last);
    }
    addfg_path_state *p = s->path + s->paths;
    p->fields = fields;
    p->first_field = s->fields;
    p->steps = instructions;
    p->next[0] = p->next[1] = ADDFG_NO_PATH;
    for (addfg_u32 i = 0; i < fields; i++) s->last[s->fields++] = 0;
    return s->paths++;
}

/* Packs the runs and events from `p` to `end` (a path's number and its fields; ADDFG_EVENT | kind,
 * the payload's length and the payload), and writes them with the definitions made since. */
static void addfg_flush(addfg_stream *s, const addfg_u8 *p, const addfg_u8 *end)
{
    if (s->definitions.length) {
        addfg__piece(s, ADDFG_DEFINITIONS, 0, &s->definitions, 0);
        s->definitions.length = 0;
    }
    if (p == end) return;
    int flags = 0;
    if (s->since_reset++ % ADDFG_RESET_EVERY == 0) {
        flags = ADDFG_RESET;
        s->before = ADDFG_NO_PATH;
        for (addfg_u32 i = 0; i < s->paths; i++) s->path[i].next[0] = s->path[i].next[1] = ADDFG_NO_PATH;
        for (addfg_u32 i = 0; i < s->fields; i++) s->last[i] = 0;
    }
    s->packed.length = 0;
    addfg_u8 *o = addfg__room(&s->packed, (addfg_u32)(end - p) / 4 * 5 + 16);
    addfg_u64 steps = 0, runs = 0;
    addfg_u32 before = s->before;
    while (p < end) {
        addfg_u32 id = addfg__get32(p);
        p += 4;
        if (id & ADDFG_EVENT) {
            addfg_u32 length = addfg__get32(p);
            p += 4;
            *o++ = 1;
            *o++ = (addfg_u8)id;
            o = addfg__varint(o, length);
            addfg__copy(o, p, length);
            o += length;
            p += length;
            continue;
        }
        if (before == ADDFG_NO_PATH) {
            o = addfg__varint(o, id + 3ULL);
        } else {
            addfg_path_state *b = s->path + before;
            if (b->next[0] == id) {
                *o++ = 0;
            } else {
                if (b->next[1] == id) *o++ = 2;
                else o = addfg__varint(o, id + 3ULL);
                b->next[1] = b->next[0];
                b->next[0] = id;
            }
        }
        before = id;
        const addfg_path_state *path = s->path + id;
        addfg_u64 *last = s->last + path->first_field;
        for (addfg_u32 i = path->fields; i; i--, p += 8, last++) {
            addfg_u64 value = addfg__get64(p);
            o = addfg__varint(o, addfg__zigzag(value - *last));
            *last = value;
        }
        steps += path->steps;
        runs++;
    }
    s->before = before;
    s->packed.length = (addfg_u32)(o - s->packed.bytes);
    addfg__piece(s, ADDFG_RECORDS, flags, &s->packed, steps);
    s->steps += steps;
    s->runs += runs;
}

/* Ends a stream: a file without this piece was cut. `code`: the program's exit code. */
static void addfg_end(addfg_stream *s, addfg_u32 code)
{
    addfg_bytes *b = &s->packed;
    b->length = 0;
    addfg_u8 *o = addfg__room(b, 32);
    o = addfg__varint(o, code);
    o = addfg__varint(o, s->runs);
    b->length = (addfg_u32)(o - b->bytes);
    addfg__piece(s, ADDFG_END, 0, b, 0);
}

#endif
