/* Rows of data flow, and what the registers hold. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* Writers that are no functions. */
#define SOURCE (1u << 31)
enum { INITIAL = SOURCE, UNINITIALISED, STACK_START, OF_PLACE = SOURCE + 4, KERNEL = SOURCE + 0x100 };

/* The writer that a cell names. */
static inline UInt writer_of(UInt function) { return is_kernel(function) ? KERNEL + (KERNEL_CELL - function) : function; }

/* Between two actors by their ids (sums_actors.h), sources or sinks, at a place. */
typedef struct {
    UInt writer, reader, place, pair;
    ULong bytes, transfers, unique, addresses;
    /* Registers that its pair shares: those of the thread with this number, and 1 (sums_readers.h). */
    UInt serial;
    UChar *registers;
} Flow;

/* The number of the pair of functions of two actors (sums_readers.h). */
static UInt pair_of(UInt writer, UInt reader, UInt place);

/* By number; the first is none. */
static UInt flow_count = 1;
static inline Flow *flow_at(UInt number) { return (Flow *)FLOWS_AT + number; }
static inline UInt number_of_flow(const Flow *f) { return f - (const Flow *)FLOWS_AT; }

/* Where they are found. A slot has a part of the hash, so that most that are passed are not looked at. */
typedef struct {
    UInt hash, flow;
} FlowSlot;

static FlowSlot *flow_slots;
static UInt flow_room;
/* Those that were wanted last, by the end of their hash. Flows stay where they are, with their names. */
#define RECENT_FLOWS (1u << 14)
static FlowSlot recent_flow[RECENT_FLOWS];

static UInt hash_of_three(UInt a, UInt b, UInt c)
{
    ULong h = (a * 0x9e3779b97f4a7c15ULL) ^ (b * 0xc2b2ae3d27d4eb4fULL) ^ (c * 0x165667b19e3779f9ULL);
    return h ^ h >> 32;
}

static FlowSlot *flow_slot(UInt hash, UInt writer, UInt reader, UInt place)
{
    for (UInt i = hash;; i++) {
        FlowSlot *slot = flow_slots + (i & (flow_room - 1));
        if (!slot->flow) return slot;
        if (slot->hash != hash) continue;
        const Flow *f = flow_at(slot->flow);
        if (f->writer == writer && f->reader == reader && f->place == place) return slot;
    }
}

static void more_flows(void)
{
    if (flow_slots) free_table(flow_slots, flow_room * sizeof *flow_slots);
    flow_room = flow_room ? flow_room * 2 : 4096;
    flow_slots = new_table(flow_room * sizeof *flow_slots);
    for (UInt n = 1; n < flow_count; n++) {
        const Flow *f = flow_at(n);
        UInt i = hash_of_three(f->writer, f->reader, f->place);
        FlowSlot new = { i, n };
        while (flow_slots[i & (flow_room - 1)].flow) i++;
        flow_slots[i & (flow_room - 1)] = new;
    }
}

static UInt id_of(UInt number);

/* `writer`, `reader`: numbers of actors, sources or sinks. */
static Flow *flow(UInt writer, UInt reader, UInt place)
{
    writer = id_of(writer);
    reader = id_of(reader);
    UInt hash = hash_of_three(writer, reader, place);
    FlowSlot *near = recent_flow + hash % RECENT_FLOWS;
    Flow *f = flow_at(near->flow);
    if (near->hash == hash && f->writer == writer && f->reader == reader && f->place == place && near->flow) return f;
    if (flow_count * 2 >= flow_room) more_flows();
    FlowSlot *slot = flow_slot(hash, writer, reader, place);
    if (slot->flow) {
        *near = *slot;
        return flow_at(slot->flow);
    }
    f = flow_at(flow_count);
    f->writer = writer;
    f->reader = reader;
    f->place = place;
    f->pair = pair_of(writer, reader, writer == OF_PLACE ? place : 0);
    slot->hash = hash;
    slot->flow = flow_count++;
    *near = *slot;
    return f;
}

/* Of a flow how much. */
typedef struct {
    UInt flow;
    UShort bytes, transfers;
} One;

/* What a read takes: mostly of one flow or two; others are in a table. */
#define INLINE 2
#define TAKEN 8
typedef struct {
    UInt count, more;
    One one[INLINE];
} Taken;

/* The first is none; those that are free are a list. */
typedef struct {
    One one[TAKEN - INLINE];
    UInt next;
} More;

static More *more_taken;
static UInt more_count = 1, more_room_taken, more_free;

static inline One *taken_at(const Taken *t, UInt i)
{
    return i < INLINE ? (One *)t->one + i : more_taken[t->more].one + i - INLINE;
}

static UInt new_more(void)
{
    UInt n = more_free;
    if (n) more_free = more_taken[n].next;
    else {
        ROOM(more_taken, more_count, more_room_taken);
        n = more_count++;
    }
    return n;
}

static void forget_taken(Taken *t)
{
    if (t->more) {
        more_taken[t->more].next = more_free;
        more_free = t->more;
    }
    t->count = t->more = 0;
}

/* False: there is no room for one more, or for so much. */
static Bool take(Taken *t, Flow *f, UInt bytes, UInt transfers)
{
    UInt i = 0, number = number_of_flow(f);
    while (i < t->count && taken_at(t, i)->flow != number) i++;
    if (i == TAKEN || bytes > 0xffff || (i < t->count && taken_at(t, i)->bytes + bytes > 0xffff)) {
        f->bytes += bytes;
        f->transfers += transfers;
        return False;
    }
    if (i == INLINE && !t->more) t->more = new_more();
    One *one = taken_at(t, i);
    if (i == t->count) {
        t->count++;
        one->flow = number;
        one->bytes = one->transfers = 0;
    }
    one->bytes += bytes;
    one->transfers += transfers;
    return True;
}

static void count_taken(const Taken *t, ULong times)
{
    for (UInt i = 0; i < t->count; i++) {
        const One *one = taken_at(t, i);
        Flow *f = flow_at(one->flow);
        f->bytes += times * one->bytes;
        f->transfers += times * one->transfers;
    }
}

/* ---- registers ---- */

/* Who wrote a register: actor in the low half, call instance in the high one. Eight bytes have one; MIXED: look at each
 * byte, and the rest says how they are parted. Each eight also say which write goes on from them into the next eight, though
 * others may have taken its bytes here: BEHIND: the one that goes on from the eight before; else the one that wrote all eight. */
typedef ULong Tag;
#define TAG_BEHIND (1u << 30)
#define TAG_MIXED 0x20000000u
#define GRANULES 320
#define REGISTER_BYTES (GRANULES * 8)
#define FUNCTION_OF(tag) ((UInt)(tag) & 0x1fffffffu)
#define IS_MIXED(tag) ((UInt)(tag) & TAG_MIXED)
#define CALL_OF(tag) ((UInt)((tag) >> 32))

/* Bytes of their own: the write that each is of, 0: that of the eight bytes before, WHOLE and the granule: the one that
 * wrote all of it, which the next granule may go on with. */
#define WHOLE (1ULL << 40)
typedef struct {
    Tag tag;
    ULong write;
} OneByte;

typedef OneByte Mixed[8];

/* A call instance that is alive (sums_calls.h). */
typedef struct Frame_ Frame;
typedef struct Code_ Code;

/* What blocks use of the running thread; another one's is put here when that runs. */
static struct {
    Tag tag[GRANULES + 1];
    /* Who has read it since (sums_readers.h). */
    ULong reader[GRANULES];
    Mixed *mixed;
    /* The tag of what is written now. */
    Tag own;
    /* What the actor that runs has done, by segment of its function. */
    struct State_ **states;
    /* The instance in the high half; the low one is such that what it has not read differs. */
    ULong key;
    /* Number of the thread, of which no two have the same. */
    UInt serial;
    /* The function that control is in; 0: what control did is to be found out where it arrives. */
    ULong arrived;
    /* The step before, if it was a call or a return, and the slot of its return address. */
    const Code *before;
    Addr slot;
    /* Where a signal came. */
    Addr interrupted_at;
    Frame *frames;
    UInt depth, room;
    /* By function: live instances. */
    UInt *live, live_room;
    /* Steps of all threads when its last block that ended with an indirect jump had run; 0: others have run since. */
    ULong jumped;
    /* Steps of all threads when it was looked at last; its own. */
    ULong seen, steps;
    /* The stack pointer has moved from here to there (sums_stacks.h). */
    Bool moved;
    Addr moved_before, moved_behind;
    /* Return addresses that stand above it, each behind where it stands; how many numbers these are. */
    Addr returns_above[2 * RETURNS_ABOVE];
    UInt above;
    /* Of the stack that runs: its highest address (0: it is the thread's own), and its stack pointer while what it called
     * runs elsewhere (0: it does not). */
    Addr base, away;
} T;

/* In `reader`: the low half of the key; bytes that it and others have read; live saves may have this version; bits that
 * are no readers. */
#define READ_KEY 0xffff
#define READ_BY 0xff00ffu
#define READ_SAVED 0x1000000u
#define KEPT 0xff000000u

static ULong writes_apart;

static void expand(UInt g)
{
    Tag tag = T.tag[g];
    ULong write = tag & TAG_BEHIND ? 0 : WHOLE | g;
    if (IS_MIXED(tag)) return;
    for (UInt i = 0; i < 8; i++) {
        T.mixed[g][i].tag = tag & ~(Tag)TAG_BEHIND;
        T.mixed[g][i].write = write;
    }
    T.tag[g] = TAG_MIXED | (tag & TAG_BEHIND);
}

/* How the bytes of a granule are parted: the same number for the same functions and the same parts. */
typedef struct {
    UInt function[8];
    UChar part[8];
} Parted;

static Parted *parted;
static UInt parted_count, parted_room, *parted_slot, parted_slots;
/* Those before are not looked for. */
static UInt parted_from;

static UInt parted_place(const Parted *p)
{
    ULong h = 0;
    for (UInt i = 0; i < 8; i++) h = (h ^ p->function[i] ^ (ULong)p->part[i] << 40) * 0x9e3779b97f4a7c15ULL;
    UInt i = (h ^ h >> 32) & (parted_slots - 1);
    while (parted_slot[i] && VG_(memcmp)(parted + parted_slot[i] - 1, p, sizeof *p)) i = (i + 1) & (parted_slots - 1);
    return i;
}

static UInt number_of_parted(const OneByte *byte)
{
    Parted p;
    for (UInt i = 0; i < 8; i++) {
        p.function[i] = FUNCTION_OF(byte[i].tag);
        /* The first byte with its write; 8 and 9: those of the write of the granule before, and of what wrote it whole. */
        UInt k = 0;
        while (byte[k].write != byte[i].write) k++;
        p.part[i] = !byte[i].write ? 8 : byte[i].write & WHOLE ? 9 : k;
    }
    if ((parted_count - parted_from) * 2 >= parted_slots) {
        parted_slots = parted_slots ? parted_slots * 2 : 1024;
        if (parted_slot) VG_(free)(parted_slot);
        parted_slot = VG_(calloc)("addfg.parted", parted_slots, sizeof *parted_slot);
        for (UInt i = parted_from; i < parted_count; i++) parted_slot[parted_place(parted + i)] = i + 1;
    }
    UInt at = parted_place(&p);
    if (parted_slot[at]) return parted_slot[at] - 1;
    ROOM(parted, parted_count, parted_room);
    parted[parted_count++] = p;
    parted_slot[at] = parted_count;
    return parted_count - 1;
}

static void note_parted(UInt g)
{
    T.tag[g] = number_of_parted(T.mixed[g]) | TAG_MIXED | (T.tag[g] & TAG_BEHIND) | (Tag)CALL_OF(T.own) << 32;
}

/* The eight bytes before are another write's: what went on from them is of a write that begins here. */
static VG_REGPARM(1) void begins_here(UWord g)
{
    Tag tag = T.tag[g];
    ULong write = tag & TAG_BEHIND ? WHOLE | g : ++writes_apart;
    T.tag[g] &= ~(Tag)TAG_BEHIND;
    if (!IS_MIXED(tag)) return;
    for (UInt i = 0; i < 8; i++)
        if (!T.mixed[g][i].write) T.mixed[g][i].write = write;
    T.tag[g] = number_of_parted(T.mixed[g]) | TAG_MIXED | (Tag)CALL_OF(tag) << 32;
}

/* The write of a part began in the granule before, or goes on in the next one. */
#define FROM_BEFORE 0x10000
#define INTO_NEXT 0x20000
/* It is of the write of another byte, whose offset and 1 is in the bits from here on; 0: it is not. */
#define LIKE_SHIFT 20

/* Bytes of a register that are not a whole granule; `offset` with these flags. */
static void write_part(UWord offset, UWord size)
{
    ULong write = offset & FROM_BEFORE ? 0 : ++writes_apart;
    Bool into_next = (offset & INTO_NEXT) != 0;
    UInt like = offset >> LIKE_SHIFT;
    offset &= 0xffff;
    if (like && IS_MIXED(T.tag[(like - 1) / 8])) write = T.mixed[(like - 1) / 8][(like - 1) % 8].write;
    if (into_next) {
        /* What wrote all of it does not any more; what goes on from before goes on behind, too. */
        UInt g = offset / 8;
        ULong other = ++writes_apart, part = write;
        write = part ? WHOLE | g : 0;
        expand(g);
        for (UInt i = 0; i < 8; i++) {
            ULong *of = &T.mixed[g][i].write;
            if (*of == part) *of = write;
            else if (*of == (WHOLE | g)) *of = other;
        }
        T.tag[g] = part ? T.tag[g] & ~(Tag)TAG_BEHIND : T.tag[g] | TAG_BEHIND;
    }
    for (UInt b = offset; b < offset + size; b++) {
        if (!IS_MIXED(T.tag[b / 8])) expand(b / 8);
        T.mixed[b / 8][b % 8].tag = T.own;
        T.mixed[b / 8][b % 8].write = write;
    }
    for (UInt g = offset / 8; g <= (offset + size - 1) / 8; g++) note_parted(g);
}

/* Of one read the writers of registers, as they are met: bytes and writes. */
typedef struct {
    UInt count;
    struct { UInt function; ULong write; UInt bytes; } of[64];
} Parts;

static void part_of(Parts *p, UInt function, ULong write, UInt bytes)
{
    UInt i = 0;
    while (i < p->count && (p->of[i].function != function || p->of[i].write != write)) i++;
    if (i == 64) {
        p->of[63].bytes += bytes;
        return;
    }
    if (i == p->count) {
        p->count++;
        p->of[i].function = function;
        p->of[i].write = write;
        p->of[i].bytes = 0;
    }
    p->of[i].bytes += bytes;
}

/* Tags of registers, and their bytes, from a granule on. */
typedef struct {
    const Tag *tag;
    Mixed *mixed;
    UInt first;
} Held;

/* The write that may go on behind a granule, which is that of all of it if it is not mixed: its first granule. */
static ULong write_of(const Held *h, UInt g)
{
    while (g > h->first && h->tag[g - h->first] & TAG_BEHIND) g--;
    return WHOLE | g;
}

/* By granule the tag of what went on there from bytes before, when what is between was written: it is told as a write of
 * its own from there on. */
static Tag split_from[GRANULES + 1];

/* Both sides of such bytes are read. */
static void note_split(const Parts *p, UInt g, Tag tag)
{
    for (UInt i = 0; i < p->count && tag && split_from[g] == tag; i++)
        if (p->of[i].function == FUNCTION_OF(tag)) return problem(SPLIT_VECTORS);
}

static void read_parts(Parts *p, const Held *h, UInt offset, UInt size)
{
    for (UInt b = offset; b < offset + size;) {
        UInt g = b / 8, end = (g + 1) * 8;
        Tag tag = h->tag[g - h->first];
        if (end > offset + size) end = offset + size;
        if (!IS_MIXED(tag)) {
            if (b > offset) note_split(p, g, tag);
            part_of(p, FUNCTION_OF(tag), FUNCTION_OF(tag) ? write_of(h, g) : 0, end - b);
        } else {
            for (UInt k = b; k < end; k++) {
                const OneByte *one = &h->mixed[g - h->first][k % 8];
                /* What nobody wrote is one version. */
                UInt function = FUNCTION_OF(one->tag);
                part_of(p, function, !function ? 0 : one->write ? one->write : g > h->first ? write_of(h, g - 1) : 0, 1);
            }
        }
        b = end;
    }
}

static void read_held(Parts *p, UInt offset, UInt size)
{
    Held now = { T.tag, T.mixed, 0 };
    read_parts(p, &now, offset, size);
}

/* False: not all had room, and what had none is counted already. */
static Bool take_parts(Taken *t, const Parts *p, UInt reader)
{
    Bool all = True;
    for (UInt i = 0; i < p->count; i++) {
        UInt writer = p->of[i].function ? p->of[i].function : INITIAL;
        all &= take(t, flow(writer, reader, 0), p->of[i].bytes, 1);
    }
    return all;
}
