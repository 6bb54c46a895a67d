/* Which call instances have read what, for unique bytes; and which bytes pairs of functions share, for addresses.
 * A part of addfg_main.c.
 *
 * Each eight bytes of memory and of registers have a number: the instance that read them last, which of the bytes it
 * has read since they were written, and which of them earlier instances that are alive have read, who are in a list.
 * A store clears its bytes.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* Unique bytes and addresses are counted. */
static Bool counts_unique = True;

/* ---- earlier readers that are alive ---- */

typedef struct {
    UInt call, next;
    UChar bytes;
} Reader;

typedef struct {
    ULong at;
    UInt first;
} Readers;

/* The first is none. */
static Reader *readers;
static UInt reader_count = 1, reader_room, reader_free;
static Readers *readers_of;
static UInt readers_used, readers_room;

static Readers *readers_at(ULong at, Bool make)
{
    if (make && readers_used * 2 >= readers_room) {
        Readers *old = readers_of;
        UInt room = readers_room;
        readers_room = room ? room * 2 : 1024;
        readers_of = new_table(readers_room * sizeof *readers_of);
        readers_used = 0;
        for (UInt i = 0; i < room; i++)
            if (old[i].first) *readers_at(old[i].at, True) = old[i];
        if (old) free_table(old, room * sizeof *old);
    }
    if (!readers_room) return NULL;
    /* Lists of memory that lies together do so, too; those of registers have numbers of one after the other. */
    ULong k = at >> 63 ? at : at >> 3;
    UInt i = ((k >> 2) * 0x9e3779b97f4a7c15ULL >> 32 << 2 | (k & 3)) & (readers_room - 1);
    while (readers_of[i].at && readers_of[i].at != at) i = (i + 1) & (readers_room - 1);
    if (!readers_of[i].at) {
        if (!make) return NULL;
        readers_of[i].at = at;
        readers_used++;
    }
    return readers_of + i;
}

static Bool is_in(const Frame *frame, UInt depth, UInt call)
{
    UInt low = 0, high = depth;
    while (low < high) {
        UInt mid = (low + high) / 2;
        if (frame[mid].call < call) low = mid + 1;
        else high = mid;
    }
    return low < depth && frame[low].call == call;
}

static Bool is_alive_elsewhere(UInt call);
/* Instances that are alive and have waited on another stack (sums_stacks.h). */
static UInt have_waited_count;
static Bool has_waited(UInt call);
/* Threads that there have been. */
static UInt sums_serials;

/* Those that have ended do not read again. */
static Bool is_alive(UInt call)
{
    UInt depth = T.depth;
    if (!alive[call % ALIVE]) return False;
    if (sums_serials > 1 && is_alive_elsewhere(call)) return True;
    if (has_waited(call)) return True;
    /* Mostly it was called by the one that runs now, or has called it. */
    if (depth && T.frames[depth - 1].call <= call) return T.frames[depth - 1].call == call;
    if (depth > 1 && T.frames[depth - 2].call <= call) return T.frames[depth - 2].call == call;
    return is_in(T.frames, depth, call);
}

/* Puts a reader into a list; `valid`: bytes that have not been written since those in it read. */
static void add_reader(ULong at, UInt call, UInt bytes, UInt valid)
{
    Readers *of = readers_at(at, True);
    UInt *link = &of->first, known = 0;
    while (*link) {
        Reader *r = readers + *link;
        r->bytes &= valid;
        if (r->call == call) {
            r->bytes |= bytes;
            known = *link;
        }
        if (r->bytes && (r->call == call || is_alive(r->call))) {
            link = &r->next;
            continue;
        }
        UInt gone = *link;
        *link = r->next;
        r->next = reader_free;
        reader_free = gone;
    }
    if (known) return;
    UInt new = reader_free;
    if (new) reader_free = readers[new].next;
    else {
        ROOM(readers, reader_count, reader_room);
        new = reader_count++;
    }
    Reader r = { call, of->first, bytes };
    readers[new] = r;
    of->first = new;
}

static UInt bytes_of_reader(ULong at, UInt call)
{
    const Readers *of = readers_at(at, False);
    for (UInt i = of ? of->first : 0; i; i = readers[i].next)
        if (readers[i].call == call) return readers[i].bytes;
    return 0;
}

/* ---- the number of eight bytes ---- */

#define READER_BITS 0xffffffff00000000ULL
#define MINE(e) ((UInt)(e) & 0xff)
#define OTHERS(e) ((UInt)((e) >> 16) & 0xff)
#define READER(e) ((UInt)((e) >> 32))

/* No instance has read eight bytes of memory before the one that did so last, whose number is less than its own: where all
 * run on one stack, those that were called later have ended when an earlier one reads. */
static Bool is_new_there(ULong at, UInt call, UInt last)
{
    return call > last && sums_serials < 2 && !have_waited_count && !(at >> 63);
}

static UInt note_other_reader(ULong *e, ULong at, UInt bytes, UInt call)
{
    UInt last = READER(*e), others = OTHERS(*e), known = 0;
    if (MINE(*e) && is_alive(last)) {
        add_reader(at, last, MINE(*e), others);
        others |= MINE(*e);
    }
    if (others && !is_new_there(at, call, last)) known = bytes_of_reader(at, call) & others;
    *e = (ULong)call << 32 | (ULong)others << 16 | (*e & KEPT) | known | bytes;
    return bytes & ~known;
}

/* An instance reads some of eight bytes: those that it had not read since they were written. */
static inline UInt note_reader(ULong *e, ULong at, UInt bytes, UInt call)
{
    UInt read = MINE(*e);
    if (READER(*e) == call) {
        *e |= bytes;
        return bytes & ~read;
    }
    if (read | OTHERS(*e)) return note_other_reader(e, at, bytes, call);
    *e = (ULong)call << 32 | (*e & KEPT) | bytes;
    return bytes;
}

/* Lists of registers have numbers beyond those of memory. */
static ULong register_at(UInt g) { return 1ULL << 63 | (ULong)T.serial << 12 | (ULong)g; }

/* ---- addresses ---- */

/* Of each pair and 64 bytes those that it shares. */
typedef struct {
    ULong key, bytes;
} Shared;

static Shared *shared;
static ULong shared_used, shared_room;
static Counts pairs;

static UInt pair_of(UInt writer, UInt reader, UInt place)
{
    return counted(&pairs, function_behind(writer), function_behind(reader), place, True)->id;
}

/* Four that lie behind each other are so there, too. */
static ULong shared_slot(ULong key)
{
    ULong h = (key >> 2) * 0x9e3779b97f4a7c15ULL, i = ((h ^ h >> 29) << 2 | (key & 3)) & (shared_room - 1);
    while (shared[i].key && shared[i].key != key) i = (i + 1) & (shared_room - 1);
    return i;
}

static void more_shared(void)
{
    Shared *old = shared;
    ULong room = shared_room;
    shared_room = room ? room * 2 : 1 << 12;
    shared = new_table(shared_room * sizeof *shared);
    for (ULong i = 0; i < room; i++)
        if (old[i].key) shared[shared_slot(old[i].key)] = old[i];
    if (old) free_table(old, room * sizeof *old);
}

/* Bits of a byte. */
#define BITS_1(n) n, n + 1
#define BITS_2(n) BITS_1(n), BITS_1(n + 1)
#define BITS_4(n) BITS_2(n), BITS_2(n + 1), BITS_2(n + 1), BITS_2(n + 2)
#define BITS_6(n) BITS_4(n), BITS_4(n + 1), BITS_4(n + 1), BITS_4(n + 2)
static const UChar bits_of[256] = { BITS_6(0), BITS_6(1), BITS_6(1), BITS_6(2) };
static inline UInt bits_in(UInt byte) { return bits_of[byte & 0xff]; }

/* Pairs with numbers below are remembered with the bytes that they share. */
#define MOST_PAIRS (1u << 24)

/* A cache of what pairs share: bytes in the low eight bits, the address's upper ones, the pair. Its lower ones are in the
 * number, crossed with the pair's. Addresses have 42 bits. What is shared stays so: an entry is never wrong. */
#define RECENT (1u << 16)
static ULong recent[RECENT];

/* Bytes of shared files have addresses that no others get (sums_shared.h). */
static Addr numbered_address(Addr a);

/* `last`: what `pair_at` has there. */
static void share_more(Flow *f, UInt *last, Addr a, UInt bytes)
{
    ULong *entry = NULL, wanted = (ULong)f->pair << 40 | a >> 19 << 8;
    if (f->pair < MOST_PAIRS) {
        entry = recent + ((a >> 3 ^ f->pair * 0x9e3779b1u >> 12) & (RECENT - 1));
        if ((*entry ^ wanted) >> 8) *entry = 0;
        else if (!(bytes & ~*entry & 0xff)) {
            *last = f->pair << 8 | (*entry & 0xff);
            return;
        }
    }
    if (shared_used * 2 >= shared_room) more_shared();
    ULong key = (ULong)f->pair << 36 | a / 64, i = shared_slot(key);
    UInt at = a & 56;
    if (!shared[i].key) {
        shared[i].key = key;
        shared_used++;
    }
    f->addresses += bits_in(bytes & ~(UInt)(shared[i].bytes >> at) & 0xff);
    shared[i].bytes |= (ULong)bytes << at;
    if (!entry) return;
    UInt now = (UInt)(shared[i].bytes >> at) & 0xff;
    *entry = wanted | now;
    *last = f->pair << 8 | now;
}

/* A pair shares some of the eight bytes that an address lies in. */
static inline void share_memory(Flow *f, Addr a, UInt bytes)
{
    UInt *last = pair_at(a);
    if (*last >> 8 != f->pair || bytes & ~*last & 0xff) share_more(f, last, a < TOP_ADDRESS && !in_aliases(a) ? a : numbered_address(a), bytes);
}

typedef struct Registers_ {
    struct Registers_ *next;
    UInt serial;
    UChar bytes[GRANULES];
} Registers;

/* By pair. */
static Registers **registers_shared;
static UInt registers_shared_room;

static void registers_of(Flow *f, UInt serial)
{
    ROOM(registers_shared, f->pair, registers_shared_room);
    Registers *r = registers_shared[f->pair];
    while (r && r->serial != serial) r = r->next;
    if (!r) {
        r = VG_(calloc)("addfg.shared", 1, sizeof *r);
        r->serial = serial;
        r->next = registers_shared[f->pair];
        registers_shared[f->pair] = r;
    }
    f->serial = serial + 1;
    f->registers = r->bytes;
}

/* A pair shares some of the eight bytes of a thread's registers. */
static inline void share_register_of(Flow *f, UInt serial, UInt g, UInt bytes)
{
    if (f->serial != serial + 1) registers_of(f, serial);
    UInt new = bytes & ~f->registers[g];
    if (!new) return;
    f->addresses += bits_in(new);
    f->registers[g] |= bytes;
}

static inline void share_register(Flow *f, UInt g, UInt bytes) { share_register_of(f, T.serial, g, bytes); }

/* No pair shares anything. */
static void forget_shared(void)
{
    if (shared) free_table(shared, shared_room * sizeof *shared);
    shared = NULL;
    shared_used = shared_room = 0;
    VG_(memset)(recent, 0, sizeof recent);
    reserve(PAIRS_AT, TOP_ADDRESS / 2 + 4096);
    for (UInt i = 0; i < registers_shared_room; i++) {
        for (Registers *r = registers_shared[i], *next; r; r = next) {
            next = r->next;
            VG_(free)(r);
        }
        registers_shared[i] = NULL;
    }
    for (UInt i = 1; i < flow_count; i++) {
        flow_at(i)->serial = 0;
        flow_at(i)->registers = NULL;
    }
}

/* The bytes of a range that lie in the eight from `a` on. */
static inline UInt bytes_in(Addr a, Addr low, Addr high)
{
    UInt from = low > a ? low - a : 0, to = high < a + 8 ? high - a : 8;
    return (0xffu >> (8 - (to - from))) << from;
}

/* Registers that a segment hands to itself whenever it runs, by the thread that runs. */
static void share_inside(Flow *own, UInt offset, UInt size)
{
    for (UInt g = offset / 8; g <= (offset + size - 1) / 8; g++) share_register(own, g, bytes_in(g * 8, offset, offset + size));
}

/* ---- reads of registers ---- */

/* Saves of this version of a granule by the running instance: it has read these bytes of it now. */
static void read_otherwise(UInt g, UInt bytes, UInt call, UInt first);

static Flow *flow_from(UInt writer, UInt reader, Flow *hint, const Taken *met)
{
    UInt id = id_of(writer);
    if (hint && hint->writer == id) return hint;
    for (UInt i = 0; met && i < met->count; i++) {
        Flow *f = flow_at(taken_at(met, i)->flow);
        if (f->writer == id) return f;
    }
    return flow(writer, reader, 0);
}

/* The instance reads a part of a granule: what is new is counted. `hint`, `met`: flows to it, which may be those. */
static void read_granule(UInt g, UInt bytes, UInt reader, Flow *hint, const Taken *met)
{
    Tag tag = T.tag[g];
    UInt before = T.reader[g] & READ_SAVED, new = note_reader(T.reader + g, register_at(g), bytes, READER(T.key));
    if (!new) return;
    if (before) read_otherwise(g, bytes, READER(T.key), T.frames[T.depth - 1].saves);
    if (!IS_MIXED(tag)) {
        UInt writer = FUNCTION_OF(tag) ? FUNCTION_OF(tag) : INITIAL;
        Flow *f = flow_from(writer, reader, hint, met);
        f->unique += bits_in(new);
        return share_register(f, g, new);
    }
    for (UInt i = 0; i < 8; i++) {
        if (!(new >> i & 1)) continue;
        UInt writer = FUNCTION_OF(T.mixed[g][i].tag);
        Flow *f = flow_from(writer ? writer : INITIAL, reader, hint, met);
        f->unique++;
        share_register(f, g, 1u << i);
    }
}

static void read_registers(UInt offset, UInt size, UInt reader, Flow *hint)
{
    if (!counts_unique) return;
    for (UInt g = offset / 8; g <= (offset + size - 1) / 8; g++) read_granule(g, bytes_in(g * 8, offset, offset + size), reader, hint, NULL);
}

/* A part of a granule was written, and read by the instance at once; another one read the rest. */
static VG_REGPARM(2) void seen_other(UWord g, UWord bytes)
{
    T.reader[g] &= ~(ULong)bytes;
    note_reader(T.reader + g, register_at(g), bytes, READER(T.key));
}

/* ---- writes of memory ---- */

static VG_REGPARM(2) void forget_readers(Addr a, UWord size) { readers_clear(a, size); }
