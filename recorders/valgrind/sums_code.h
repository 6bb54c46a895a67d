/* What blocks call when data flow is summed: where something is other than it was there last. A part of
 * addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* A load, or a store of a register, in a segment; `at`: where in states it has what it met last. That is counted when it
 * meets something else. */
typedef struct {
    UInt at, size;
    /* The register that is stored or loaded, unchanged; size 0: none. */
    UInt offset, register_size;
    Bool stack_relative, is_store;
    /* A load of eight bytes of a register of which the segment reads nothing. */
    Bool is_plain_restore;
    /* What the segment reads of the register that is loaded, at each run, and which of its bytes. */
    UInt fed_bytes, fed_transfers;
    ULong fed;
} Site;

/* What a load met last. */
typedef struct {
    Taken taken;
    /* If it is of one flow: that one's pair, and unique bytes that are not in it yet. 0: bytes are looked at one by one. */
    UInt pair, unique;
    /* Addresses for which it holds: so many behind the first, all of a place. */
    Addr low;
    ULong reach;
    UInt place;
    /* The segment's run from which on it holds. */
    ULong since;
    /* The cells that it found; no such where each time is looked at. */
    ULong cells[];
} Met;

/* Behind the cells, if the segment reads of what is loaded: times that the load was a restore, and how many of them
 * `share_segments` has looked at. */
typedef struct {
    ULong times, seen;
} Restores;

/* What a store of a register did. */
typedef struct {
    /* Runs that are in the sums as reads of the instance's own register; that were not that. */
    ULong owned, other;
    /* The flow of such a run. */
    UInt flow;
} Stored;

/* A read of registers: pieces of one access. */
typedef struct {
    UShort offset, size;
    Bool more;
} RegisterRead;

/* Straight code of one function, as it was translated. */
struct Segment_ {
    /* Runs of all actors that are in the sums. */
    ULong count;
    UInt function, first_step, steps, stored;
    /* Its number in the function. */
    UInt at;
    UInt static_bytes, static_transfers, static_unique;
    Bool stub;
    /* Of the function; 0: not known. */
    Addr entry;
    /* Bytes that it surely hands to itself. */
    UInt inside;
    struct { UShort offset, size; } *in;
    UInt reads;
    RegisterRead *read;
    /* The granules that are read. */
    UInt granules;
    UShort *granule;
    UChar *bytes;
    UInt sites, site_room;
    Site *site;
    /* How long its states are, and those that are free. */
    UInt length;
    State *free;
};

/* What an actor has done in a segment: in one piece with what its sites met (`Met`, `Stored`). */
struct State_ {
    ULong count;
    /* The cells of a store of the actor: the first four, and others. */
    ULong first_cells, cells;
    UInt actor;
    /* From the actor to itself in registers; 0: it is not known. */
    UInt own;
    Segment *code;
    Actor *of;
    /* Runs that are in the sums; that `share_segments` has looked at, and the threads in which it knows of them. */
    ULong counted, shared, threads;
    /* The granules' writers, and the run from which on they hold. */
    ULong since;
    Taken taken;
    /* Its place in `states`, and its row of `state_places`. */
    UInt index;
    ULong places;
    /* The thread of what is known to be shared: its number, and 1. */
    UInt serial;
    /* The low halves of the granules' tags; behind them by granule the flow of it, if it is one and known; behind those
     * bytes of it that the flow's pair is known to share (`KNOWN_SHARED`), above them unique bytes that are not in it yet. */
    UInt met[];
};

/* How a piece of straight code ends. */
struct Code_ {
    Addr address, next, target;
    UInt kind;
    Bool conditional, repeats, executed, has_target;
    /* Index of the access with the return address's slot. */
    UInt slot;
};

static Segment **segments;
static State **states;
static UInt segment_count, segment_room, state_count, state_room;
/* By state: places that its loads remember, by the ends of their numbers. */
static ULong *state_places;
static UInt state_places_room;
/* What of their area is in use. */
static Addr states_end = STATES_AT;

#define NEVER (~0ULL)
#define KNOWN_SHARED 0xffu
#define MUCH_UNIQUE 0x80000000u

static inline Met *met_of(const State *s, const Site *site) { return (Met *)((Addr)s + site->at); }
static inline Stored *stored_of(const State *s, const Site *site) { return (Stored *)((Addr)s + site->at); }
/* What of cells is compared at once. */
static inline UInt cells_length(const Site *site) { return site->size > 32 ? 8 : (2 * site->size + 7) & ~7u; }
static inline Restores *restores_of(const State *s, const Site *site)
{
    return (Restores *)((Addr)met_of(s, site)->cells + cells_length(site));
}

/* ---- registers ---- */

static void reads_over(State *s, ULong before)
{
    if (before > s->since) count_taken(&s->taken, before - s->since);
}

/* Unique bytes of its registers are in the sums. */
static void count_unique(State *s)
{
    UInt granules = s->code->granules, *flow_of = s->met + granules, *known = flow_of + granules;
    for (UInt i = 0; i < granules; i++) {
        if (known[i] > KNOWN_SHARED) flow_at(flow_of[i])->unique += known[i] >> 8;
        known[i] &= KNOWN_SHARED;
    }
}

static Flow *own_flow(State *s)
{
    if (!s->own) s->own = number_of_flow(flow(s->actor, s->actor, 0));
    return flow_at(s->own);
}

static void registers_changed(State *s)
{
    const Segment *code = s->code;
    ULong now = s->count;
    if (s->since != NEVER) reads_over(s, now);
    Bool again = True;
    s->taken.count = 0;
    for (UInt i = 0; i < code->reads;) {
        Parts p;
        p.count = 0;
        do {
            read_held(&p, code->read[i].offset, code->read[i].size);
            i++;
        } while (i < code->reads && code->read[i].more);
        again &= take_parts(&s->taken, &p, s->actor);
    }
    count_unique(s);
    for (UInt i = 0; i < code->granules; i++) {
        s->met[i] = T.tag[code->granule[i]];
        s->met[code->granules + i] = s->met[2 * code->granules + i] = 0;
    }
    s->since = now;
    if (again) return;
    count_taken(&s->taken, 1);
    s->since = NEVER;
    s->met[0] = ~0u;
}

static void __attribute__((noinline)) registers_met_slowly(State *s)
{
    const Segment *code = s->code;
    UInt differs = 0, *flow_of = s->met + code->granules, *known = flow_of + code->granules;
    for (UInt i = 0; i < code->granules; i++) differs |= s->met[i] ^ (UInt)T.tag[code->granule[i]];
    if (differs) registers_changed(s);
    else count_unique(s);
    for (UInt i = 0; i < code->granules && s->serial != T.serial + 1; i++) known[i] = 0;
    s->serial = T.serial + 1;
    for (UInt i = 0; i < code->granules && counts_unique; i++) {
        UInt g = code->granule[i], bytes = code->bytes[i];
        if (!((T.reader[g] ^ T.key) & (READER_BITS | bytes))) continue;
        Tag tag = T.tag[g];
        if (!flow_of[i] && !IS_MIXED(tag))
            flow_of[i] = number_of_flow(flow_from(FUNCTION_OF(tag) ? FUNCTION_OF(tag) : INITIAL, s->actor, own_flow(s), &s->taken));
        read_granule(g, bytes, s->actor, flow_of[i] ? flow_at(flow_of[i]) : own_flow(s), &s->taken);
        const Flow *f = flow_at(flow_of[i]);
        if (flow_of[i] && f->serial == s->serial) known[i] = f->registers[g];
    }
}

/* The registers that a segment reads are others than last time, or the instance has not read all of them. Mostly it is
 * the latter, and nobody else has. */
static VG_REGPARM(1) void registers_met(State *s)
{
    const Segment *code = s->code;
    UInt *known = s->met + 2 * code->granules;
    if (s->serial != T.serial + 1) return registers_met_slowly(s);
    for (UInt i = 0; i < code->granules; i++) {
        UInt g = code->granule[i], bytes = code->bytes[i];
        if (s->met[i] != (UInt)T.tag[g]) return registers_met_slowly(s);
        ULong e = T.reader[g], unread = (e ^ T.key) & (READER_BITS | bytes);
        if (!unread || !counts_unique) continue;
        UInt new = unread, met = READ_SAVED;
        if (unread >> 32) {
            new = bytes;
            met = READ_SAVED | READ_BY;
        }
        if ((UInt)e & met || new & ~known[i] || known[i] & MUCH_UNIQUE) return registers_met_slowly(s);
        T.reader[g] = (T.key & READER_BITS) | (UInt)e | bytes;
        known[i] += bits_in(new) << 8;
    }
}

/* `seen`: what the granule's tag is behind the write. */
static VG_REGPARM(3) void write_other(UWord offset, UWord size, Tag *seen)
{
    write_part(offset, size);
    *seen = T.tag[(offset & 0xffff) / 8];
}

/* ---- memory ---- */

/* The numbers of links that a read has met. */
typedef struct {
    UInt count, number[64];
} Links;

/* Whether a byte is of one that was not met yet. */
static Bool new_link(Links *l, UInt number)
{
    UInt i = 0;
    while (i < l->count && l->number[i] != number) i++;
    if (i < l->count) return False;
    if (l->count < 64) l->number[l->count++] = number;
    return True;
}

/* Whether a byte goes on with the write of the one before, where one of them is linked: links reach so far only. */
static Bool goes_on(Addr a, UInt function, Addr before_of)
{
    UInt before = *cell_of(a - 1) & CELL_FUNCTION;
    if (a == before_of) return False;
    if (function == CELL_LINKED) {
        const Linked *l = linked + *save_of(a), *below = linked + *save_of(a - 1);
        if (before == CELL_LINKED && l != below) return !l->begins && l->low == a && below->high == a && below->function == l->function;
        return !l->begins && l->low == a && before == l->function && before != CELL_LINKED;
    }
    const Linked *l = linked + *save_of(a - 1);
    return before == CELL_LINKED && l->high == a && l->function == function && !(*cell_of(a) & CELL_FIRST);
}

/* What a load of cells of one place takes; False: it is not the same each time that the cells are. */
static Bool take_cells(Taken *taken, Addr a, UInt size, UInt reader, const Place *place)
{
    a = home_of(a);
    Bool all = True, had = False;
    const Cell *cell = cell_of(a);
    UInt unwritten = OF_PLACE, id = place->id;
    Links links;
    links.count = 0;
    if (id & REGION) unwritten = first_stack && a >= first_stack ? STACK_START : UNINITIALISED;
    for (UInt i = 0; i < size;) {
        UInt function = cell[i] & CELL_FUNCTION, n = 1;
        if (function == CELL_LINKED) {
            UInt number = *save_of(a + i);
            Bool new = new_link(&links, number) && !goes_on(a + i, function, a);
            take(taken, flow(writer_of(linked[number].function), reader, id), 1, new);
            all = False;
            i++;
            continue;
        }
        while (i + n < size && (cell[i + n] & CELL_FUNCTION) == function && !(cell[i + n] & CELL_FIRST)) n++;
        UInt writer = function ? writer_of(function) : unwritten;
        /* What nobody wrote is one version. */
        Bool new = function ? !goes_on(a + i, function, a) : !had;
        all &= take(taken, flow(writer, reader, id), n, new);
        had |= !function;
        i += n;
    }
    return all;
}

/* Who wrote a byte, as a flow to a reader; `place`: where it lies. */
static Flow *flow_of_byte(Addr a, UInt reader, const Place *place)
{
    a = home_of(a);
    UInt writer = *cell_of(a) & CELL_FUNCTION;
    if (writer == CELL_LINKED) writer = writer_of(linked[*save_of(a)].function);
    else if (writer) writer = writer_of(writer);
    else writer = !(place->id & REGION) ? OF_PLACE : first_stack && a >= first_stack ? STACK_START : UNINITIALISED;
    return flow(writer, reader, place->id);
}

/* An instance reads memory: what it has not read since it was written counts. `one`: the only flow; NULL: look at each byte. */
static void first_reads(Addr a, UInt size, UInt reader, Flow *one)
{
    if (!counts_unique) return;
    for (Addr at = a & ~7ULL; at < a + size; at += 8) {
        if (at == a && size >= 8 && !((*reader_at(a) ^ T.key) & (READER_BITS | 0xff))) continue;
        UInt new = note_reader(reader_at(at), home_of(at), bytes_in(at, a, a + size), READER(T.key));
        if (!new) continue;
        if (one) {
            one->unique += bits_in(new);
            share_memory(one, at, new);
            continue;
        }
        for (UInt i = 0; i < 8; i++) {
            if (!(new >> i & 1)) continue;
            Place place = place_of(at + i);
            Flow *f = flow_of_byte(at + i, reader, &place);
            f->unique++;
            share_memory(f, at, 1u << i);
        }
    }
}

/* Bytes that lie at several places, or whose regions differ. What nobody wrote is a version of each section, and of all
 * regions. `by_kernel`: each time a reader of its own. */
static void read_apart(UInt reader, Addr a, ULong size, Bool by_kernel)
{
    Addr together = end_of_piece(a, a + size);
    if (together < a + size) {
        read_apart(reader, a, together - a, by_kernel);
        return read_apart(reader, together, size - (together - a), by_kernel);
    }
    a = home_of(a);
    UInt last = 0;
    Links links = { 0 }, unwritten = { 0 };
    for (ULong i = 0; i < size; i++) {
        Place place = place_of(a + i);
        Cell c = *cell_of(a + i);
        UInt writer = c & CELL_FUNCTION;
        Bool new = !i || c & CELL_FIRST || writer != last;
        last = writer;
        if (writer == CELL_LINKED) {
            UInt number = *save_of(a + i);
            writer = writer_of(linked[number].function);
            new = new_link(&links, number) && !goes_on(a + i, CELL_LINKED, a);
        } else if (writer) {
            new &= !goes_on(a + i, writer, a);
            writer = writer_of(writer);
        } else {
            writer = !(place.id & REGION) ? OF_PLACE : first_stack && a + i >= first_stack ? STACK_START : UNINITIALISED;
            new = new_link(&unwritten, place.id & REGION ? writer : place.id);
        }
        Flow *f = flow(writer, reader, place.id);
        f->bytes++;
        f->transfers += new;
        if (!by_kernel || !counts_unique) continue;
        f->unique++;
        share_memory(f, a + i, 1u << ((a + i) & 7));
    }
    if (!by_kernel) first_reads(a, size, reader, NULL);
}

/* What a segment reads of a register that it restores is of who had written that. Of several the first one has it all,
 * which is said, unless each byte is read once. */
static void count_fed(const Site *site, State *s, const Save *save)
{
    Held saved = { save->tag, save->mixed, save->offset / 8 };
    UInt bytes = 0;
    Parts p;
    p.count = 0;
    for (UInt b = 0; b < 64 && site->fed >> b; b++) {
        if (!(site->fed >> b & 1)) continue;
        read_parts(&p, &saved, site->offset + b, 1);
        bytes++;
    }
    Bool once = bytes == site->fed_bytes && site->fed_transfers == 1;
    if (p.count > 1 && !once) problem(GUARDED_SAVES);
    for (UInt i = 0; i < p.count && (!i || once); i++) {
        Flow *f = flow(p.of[i].function ? p.of[i].function : INITIAL, s->actor, 0);
        f->bytes += once ? p.of[i].bytes : site->fed_bytes;
        f->transfers += site->fed_transfers;
    }
}

static void count_restore(const Site *site, State *s, UInt number)
{
    if (site->fed) restores_of(s, site)->times++;
    if (!site->fed_transfers && !site->fed_bytes) return;
    Flow *own = own_flow(s);
    for (ULong fed = site->fed; fed; fed &= fed - 1) own->unique--;
    own->bytes -= site->fed_bytes;
    own->transfers -= site->fed_transfers;
    count_fed(site, s, saves + number);
}

/* A load gives a register its old writers back. */
static void restore(const Site *site, State *s, UInt number)
{
    count_restore(site, s, number);
    give_back(number);
    for (UInt i = 0; counts_unique && i < 64 && site->fed >> i; i++)
        if (site->fed >> i & 1) read_registers(site->offset + i, 1, s->actor, NULL);
}

/* Memory that has no image and that is accessed from the stack pointer is a stack: also where an access begins below it. */
static void is_stack(Addr a, UInt size)
{
    for (Addr at = a; at < a + size;) {
        Place place = place_of(at);
        known_stack = place.low;
        known_stack_bytes = place.high - place.low;
        if (place.id & REGION) region_is_stack[place.id & ~REGION] = True;
        at = place.high;
    }
}

static inline Bool is_known_stack(Addr a, UInt size)
{
    return a - known_stack < known_stack_bytes && known_stack_bytes - (a - known_stack) >= size;
}

static void note_stack(const Site *s, Addr a) { if (s->stack_relative && !is_known_stack(a, s->size)) is_stack(a, s->size); }

/* Where a return address lies: most stacks are told by that, as stores are not looked at. */
static void note_slot(Addr slot) { if (slot && !is_known_stack(slot, sizeof(Addr))) is_stack(slot, sizeof(Addr)); }

/* This run is not what will be counted: whatever comes next is looked at. */
static void look_again(Met *m)
{
    m->since = NEVER;
    m->cells[0] = ~0ULL;
    m->reach = m->pair = 0;
}

/* What a load has met up to a run of its segment is in the sums. */
static void count_met(Met *m, ULong run)
{
    if (m->since != NEVER && run > m->since) count_taken(&m->taken, run - m->since);
    if (!m->pair) return;
    flow_at(m->taken.one[0].flow)->unique += m->unique;
    m->unique = 0;
}

/* A load of it remembers a place. */
static void remember_place(State *s, UInt id)
{
    if (!(s->places >> id % 64 & 1)) state_places[s->index] = s->places |= 1ULL << id % 64;
}

/* From this run on it takes what it takes now, which is of one flow or several. */
static void meets(Met *m, ULong run, UInt size, Addr a)
{
    const Flow *f = m->taken.count == 1 ? flow_at(m->taken.one[0].flow) : NULL;
    m->since = run;
    m->pair = f && f->pair < MOST_PAIRS ? f->pair : 0;
    VG_(memcpy)(m->cells, cell_of(a), 2 * size);
}

/* The actor that one store of it wrote all of these cells with, in which there is no save; 0: it is not so. */
static UInt one_writer(const Cell *cell, UInt size)
{
    UInt function = *cell & CELL_FUNCTION;
    if (*cell & CELL_SAVE || function == CELL_LINKED) return 0;
    for (UInt i = 1; i < size; i++)
        if (cell[i] != function) return 0;
    return function;
}

/* From now on it is of addresses of a place. False: such a load does not lie in one. */
static Bool meets_place(Met *m, UInt size, State *s, Addr a)
{
    UInt at = a >> 16 & (RECENT_PLACES - 1);
    Addr low = recent_place[at].low;
    ULong bytes = recent_place[at].bytes;
    if (a - low >= bytes) {
        Place place = place_of(a);
        recent_place[at].low = low = place.low;
        recent_place[at].bytes = bytes = place.high - place.low;
        recent_place[at].id = place.id;
    }
    if (bytes - (a - low) < size) return False;
    m->place = recent_place[at].id;
    m->low = low;
    m->reach = bytes - size;
    remember_place(s, m->place);
    return True;
}

/* Where one store wrote all of it, which is no save. False: it is not so. */
static Bool load_of_one(const Site *site, State *s, Addr a)
{
    Met *m = met_of(s, site);
    UInt size = site->size, writer = size > 32 ? 0 : one_writer(cell_of(a), size);
    if (!writer) return False;
    count_met(m, s->count);
    if (a - m->low > m->reach || m->since == NEVER) {
        look_again(m);
        note_stack(site, a);
        if (!meets_place(m, size, s, a)) return False;
    }
    /* Mostly it is the one before the last one. */
    One *one = m->taken.one;
    Flow *f = flow_at(one[1].flow);
    writer = writer_of(writer);
    if (!one[1].flow || f->writer != id_of(writer) || f->place != m->place) f = flow(writer, s->actor, m->place);
    one[1].flow = m->taken.count ? one[0].flow : 0;
    one[0].flow = number_of_flow(f);
    one[0].bytes = size;
    one[0].transfers = 1;
    m->taken.count = 1;
    meets(m, s->count, size, a);
    return True;
}

/* False: it was a restore, or all of it has been counted. */
static Bool load_changed(const Site *site, State *s, Addr a)
{
    Met *m = met_of(s, site);
    UInt size = site->size;
    if (load_of_one(site, s, a)) return True;
    count_met(m, s->count);
    m->taken.count = 0;
    look_again(m);
    note_stack(site, a);
    UInt number = site->register_size ? restored(a, size, site->offset) : 0;
    if (number) {
        restore(site, s, number);
        return False;
    }
    expose_range(a, size);
    Place place = place_of(a);
    if (place.high - a < size) {
        read_apart(s->actor, a, size, False);
        return False;
    }
    if (!take_cells(&m->taken, a, size, s->actor, &place) || size > 32) {
        count_taken(&m->taken, 1);
        return True;
    }
    meets_place(m, size, s, a);
    if (m->taken.count == 1) m->taken.one[1].flow = 0;
    meets(m, s->count, size, a);
    return True;
}

static inline Bool same_cells(const Met *m, UInt size, Addr a)
{
    const Cell *now = cell_of(a), *met = (const Cell *)m->cells;
    if (size == 1) return *now == *met;
    if (size == 2) return *(const UInt *)now == *(const UInt *)met;
    if (size & 3) return !VG_(memcmp)(met, now, 2 * size);
    for (UInt i = 0; i < size; i += 4)
        if (*(const ULong *)(now + i) != *(const ULong *)(met + i)) return False;
    return True;
}

static void __attribute__((noinline)) load_met_slowly(const Site *site, State *s, Addr a)
{
    const Met *m = met_of(s, site);
    UInt size = site->size;
    Bool same = m->since != NEVER && a - m->low <= m->reach && same_cells(m, size, a);
    if (!same && !load_changed(site, s, a)) return;
    Bool one = m->since != NEVER && m->taken.count == 1;
    first_reads(a, size, s->actor, one ? flow_at(m->taken.one[0].flow) : NULL);
}

/* It is a restore, as whenever its segment ran, of which nothing else reads. */
static inline Bool restores_again(const Site *site, const Met *m, Addr a)
{
    return site->is_plain_restore && m->since == NEVER && *cell_of(a) & CELL_SAVE && give_back_whole(a, site->offset);
}

/* A load finds something else than last time, or what its instance has not read. Mostly it is the latter, of one flow,
 * and nobody else has read it. */
static VG_REGPARM(3) void load_met(const Site *site, State *s, Addr a)
{
    Met *m = met_of(s, site);
    if (restores_again(site, m, a)) return note_stack(site, a);
    UInt size = site->size, shift = a & 7, pair = m->pair;
    if (!pair || shift + size > 8 || a - m->low > m->reach || !same_cells(m, size, a)) return load_met_slowly(site, s, a);
    UInt new = note_reader(reader_at(a), home_of(a & ~7ULL), ((1u << size) - 1) << shift, READER(T.key)), shared = *pair_at(a);
    m->unique += bits_in(new);
    if (shared >> 8 != pair || new & ~shared) share_memory(flow_at(m->taken.one[0].flow), a & ~7ULL, new);
}

/* A load that is not made each time. */
static VG_REGPARM(3) void load_once(const Site *site, State *s, Addr a)
{
    note_stack(site, a);
    UInt number = site->register_size ? restored(a, site->size, site->offset) : 0;
    if (number) return restore(site, s, number);
    expose_range(a, site->size);
    read_apart(s->actor, a, site->size, False);
}

static VG_REGPARM(3) void store_any(Addr a, UWord size, UWord actor) { cells_write(a, size, actor); }

static VG_REGPARM(3) void store_once(Addr a, UWord size, UWord actor)
{
    function_of(numbered[actor]->function)->written += size;
    cells_write(a, size, actor);
}

static VG_REGPARM(2) void store_split(Addr a, UWord size) { split_store(a, size); }

static Bool is_own(const Site *s)
{
    UInt first = s->offset / 8, last = (s->offset + s->register_size - 1) / 8;
    for (UInt g = first; g <= last; g++)
        if (T.tag[g] != (g == first ? T.own : T.own | TAG_BEHIND)) return False;
    return True;
}

/* Behind an ordinary store of a register that is not wholly the instance's own, or that it has not read. */
static VG_REGPARM(3) void store_register(const Site *site, State *s, Addr a)
{
    UInt offset = site->offset, size = site->register_size;
    if (is_own(site)) return read_registers(offset, size, s->actor, own_flow(s));
    Stored *did = stored_of(s, site);
    did->other++;
    if (is_foreign(offset, size) && in_frame(a, site->size, site->stack_relative)) return make_save(a, site->size, offset);
    Tag tag = T.tag[offset / 8];
    /* Mostly one writer, as last time. */
    UInt writer = FUNCTION_OF(tag);
    if (IS_MIXED(tag) || offset % 8 + size > 8) return read_now(offset, size, s->actor);
    if (!writer) writer = INITIAL;
    Flow *f = flow_at(did->flow);
    if (!did->flow || f->writer != id_of(writer)) f = flow(writer, s->actor, 0);
    did->flow = number_of_flow(f);
    f->bytes += size;
    f->transfers++;
    if (counts_unique) read_registers(offset, size, s->actor, f);
}

static void forget_places_of(Addr low, Addr high, ULong ids)
{
    for (UInt i = 0; i < state_count; i++) {
        const State *s = states[i];
        if (!(state_places[i] & ids)) continue;
        for (UInt k = 0; k < s->code->sites; k++) {
            const Site *site = s->code->site + k;
            Met *m = met_of(s, site);
            if (site->is_store || m->since == NEVER || m->low >= high || m->low + m->reach + site->size <= low) continue;
            count_met(m, s->count + 1);
            look_again(m);
        }
    }
}

/* ---- control ---- */

/* Depth of the newest frame that a return ends; -1: none. */
static Int frame_of_return(Addr to, Addr slot)
{
    for (Int d = (Int)T.depth - 1; d >= 0; d--) {
        const Frame *f = T.frames + d;
        if (f->returns == to && (!f->slot || !slot || f->slot == slot) && (f->returns || f->slot)) return d;
    }
    return -1;
}

/* What was before a signal's handler, and before what it interrupted goes on. */
static const Code interrupted = { .kind = FLOW_INTERRUPTED }, resumed = { .kind = FLOW_RESUMED };

/* Depth of the newest handler that was begun there; -1: none. */
static Int frame_of_resumed(Addr at)
{
    for (Int d = (Int)T.depth - 1; d >= 0; d--)
        if (T.frames[d].resumes == at) return d;
    return -1;
}

/* Depth of the newest instance that a jump which may go anywhere goes back to; -1: none. `unwinds_to` in src/analysis/transfer.rs. */
static Int frame_gone_back_to(UInt function, Addr slot)
{
    for (Int d = (Int)T.depth - 2; d >= 0; d--) {
        const Frame *f = T.frames + d;
        if (f->function == function && (!slot || ((!f[1].slot || f[1].slot <= slot) && (!f->slot || slot < f->slot)))) return d;
    }
    return -1;
}

/* Control arrives where the stack pointer has moved before: whether it goes on on another stack. */
static Bool goes_to_stack(const Segment *s, Addr address, const Code *before)
{
    Addr from = T.moved_before;
    Bool jumped = T.jumped && T.jumped == steps_done, is_call = before && before->kind == FLOW_CALL;
    if (before ? address == before->next || !before->executed : !jumped) return False;
    if (before && !is_call && before->kind != FLOW_RETURN) return False;
    T.moved = False;
    Addr pointer = before && before->kind == FLOW_RETURN && T.slot ? T.slot : T.moved_behind;
    Bool is_own = pointer >= (T.away ? T.away : from) && pointer <= base_of_stack(from);
    if (is_call) {
        /* What is called runs on another stack, and comes back. */
        T.away = is_own ? 0 : T.away ? T.away : from;
        return False;
    }
    Addr returns = before ? address : 0, slot = before ? T.slot : 0;
    Bool stays = before && (frame_of_return(address, slot) >= 0 || frame_of_resumed(address) >= 0);
    Bool there = T.depth && T.frames[T.depth - 1].function == s->function;
    Bool inside = s->entry && s->entry != address && T.depth && !there;
    Addr called = before ? pointer : pointer - sizeof(Addr);
    UInt none, stands = copied_there(T.frames, T.depth, T.away ? T.away : from, base_of_stack(from), s->function, address, called, &none);
    if (!stays) release_elsewhere(pointer, s->function, address, called, stands);
    Int back = !stays && inside && *live_of(s->function) ? frame_gone_back_to(s->function, slot) : -1;
    if (back >= 0) {
        UInt at;
        Int waits = stack_of(pointer);
        const Waiting *w = waits >= 0 ? waiting[waits] : NULL;
        Bool is_entry = s->entry == address, goes = w && goes_on_in(w->frames, w->depth, s->function, is_entry, returns, pointer, &at) != NOWHERE;
        Bool is_there = goes_on_in(T.frames, T.depth, s->function, is_entry, returns, pointer, &at) != NOWHERE;
        Bool is_elsewhere = !is_there && !is_own && !goes;
        UInt own = stands_there(T.frames, T.depth, back, called);
        Bool copied = is_elsewhere && copied_stack(s->function, address, called, own + 1, &at) >= 0;
        if (is_elsewhere && !copied && relocate(T.away ? T.away : from, base_of_stack(from), back, called) && w) end_waiting(waits);
        stays = is_there || (!goes && !copied);
    } else if (!stays) {
        Addr popped = T.depth ? T.frames[T.depth - 1].slot : 0;
        stays = popped && pointer >= from && pointer <= popped + POPPED;
        Bool is_slot = False;
        for (UInt d = 0; d < T.depth; d++) is_slot |= T.frames[d].slot == pointer;
        stays |= stack_of(pointer) < 0 && (is_slot || there);
    }
    if (stays) {
        if (is_own) T.away = 0;
        return False;
    }
    go_to_stack(s->function, s->entry == address, from, pointer, address, before != NULL);
    return True;
}

/* Control arrives at a block by a call, a return, or in another function. */
static VG_REGPARM(2) void arrive(const Segment *s, Addr address)
{
    settle_steps();
    const Code *before = T.before;
    T.before = NULL;
    if (T.moved && goes_to_stack(s, address, before)) {
        if (before) note_slot(T.slot);
        be_in(s->function, s->stub);
        return set_top();
    }
    Bool falls = before && address == before->next;
    if (before && (before->kind == FLOW_CALL || before->kind == FLOW_RETURN)) note_slot(T.slot);
    if (before && !falls && before->executed && before->kind == FLOW_CALL) {
        begin_instance(s->function, s->stub ? KIND_STUB : KIND_CALL, s->stub, before->next, T.slot);
        return set_top();
    }
    Int depth = -1;
    if (before && !falls && before->executed && (before->kind == FLOW_RETURN || before->kind == FLOW_EXCEPTION_RETURN)) {
        depth = frame_of_return(address, T.slot);
        if (depth < 0) depth = frame_of_resumed(address);
    }
    Bool resumed_here = before && before->kind == FLOW_RESUMED;
    if (resumed_here) depth = frame_of_resumed(address);
    Addr base = T.away ? base_of_stack(T.away) : 0;
    if (depth >= 0) end_down_to(depth);
    Bool returned = before && !falls && before->executed && before->kind == FLOW_RETURN;
    Bool anywhere = before ? returned : T.jumped && T.jumped == steps_done;
    Bool inside = s->entry && s->entry != address && T.depth && T.frames[T.depth - 1].function != s->function;
    if (anywhere && depth < 0 && inside && *live_of(s->function)) {
        depth = frame_gone_back_to(s->function, before ? T.slot : 0);
        if (depth >= 0) end_down_to(depth + 1);
    }
    if (returned) returns_from(T.slot, base, depth >= 0);
    /* What no handler has interrupted, as far as is known, begins as one. */
    if ((before && before->kind == FLOW_INTERRUPTED) || (resumed_here && depth < 0)) {
        begin_instance(s->function, KIND_SIGNAL, s->stub, 0, 0);
        T.frames[T.depth - 1].resumes = resumed_here ? 0 : T.interrupted_at;
        return set_top();
    }
    be_in(s->function, s->stub);
    set_top();
}

/* The actor that runs comes into a segment for the first time. */
static VG_REGPARM(1) void begin_state(Segment *code)
{
    Actor *actor = T.frames[T.depth - 1].actor;
    State *new = code->free;
    if (new) code->free = *(State **)new;
    else {
        new = (State *)states_end;
        states_end += code->length;
    }
    VG_(memset)(new, 0, code->length);
    new->code = code;
    new->since = NEVER;
    if (code->granules) new->met[0] = ~0u;
    for (UInt k = 0; k < code->sites; k++)
        if (!code->site[k].is_store) look_again(met_of(new, code->site + k));
    new->of = actor;
    new->actor = actor->number;
    new->cells = actor->number * 0x0001000100010001ULL;
    new->first_cells = new->cells | CELL_FIRST;
    new->index = state_count;
    actor->state[code->at] = new;
    ROOM(states, state_count, state_room);
    ROOM(state_places, state_count, state_places_room);
    state_places[state_count] = 0;
    states[state_count++] = new;
}

/* A state is there no more. */
static void free_state(State *s)
{
    Segment *code = s->code;
    forget_taken(&s->taken);
    for (UInt k = 0; k < code->sites; k++)
        if (!code->site[k].is_store) forget_taken(&met_of(s, code->site + k)->taken);
    *(State **)s = code->free;
    code->free = s;
}

/* A way out that was taken in the middle of an instruction. */
static VG_REGPARM(1) void left_there(State *s)
{
    s->count++;
    steps_done += s->code->steps;
}

/* ---- what segments hand to themselves ---- */

/* The running thread shares what segments that have run since hand to themselves in its registers. */
static void share_segments(void)
{
    ULong thread = T.serial < 64 ? 1ULL << T.serial : 0;
    for (UInt i = 0; i < state_count && counts_unique; i++) {
        State *s = states[i];
        const Segment *code = s->code;
        ULong ran = s->count - s->shared;
        if (!ran) continue;
        s->shared = s->count;
        for (UInt k = 0; k < code->inside && !(s->threads & thread); k++)
            share_inside(own_flow(s), code->in[k].offset, code->in[k].size);
        s->threads |= thread;
        for (UInt k = 0; k < code->sites; k++) {
            const Site *site = code->site + k;
            if (!site->fed) continue;
            Restores *of = restores_of(s, site);
            ULong restores = of->times - of->seen;
            of->seen = of->times;
            if (restores >= ran) continue;
            for (UInt b = 0; b < 64 && site->fed >> b; b++)
                if (site->fed >> b & 1) share_inside(own_flow(s), site->offset + b, 1);
        }
    }
}

/* ---- the end ---- */

/* Adds to the sums what has been counted up to now. */
static void count_all(void)
{
    for (UInt i = 0; i < state_count; i++) {
        State *s = states[i];
        Segment *code = s->code;
        ULong end = s->count + 1, runs = s->count - s->counted;
        s->counted = s->count;
        code->count += runs;
        if (s->since != NEVER) {
            reads_over(s, end);
            s->since = end;
        }
        count_unique(s);
        if (runs && code->static_transfers) {
            Flow *own = own_flow(s);
            own->bytes += runs * code->static_bytes;
            own->transfers += runs * code->static_transfers;
            own->unique += runs * code->static_unique;
        }
        function_of(code->function)->written += runs * code->stored;
        for (UInt k = 0; k < code->sites; k++) {
            const Site *site = code->site + k;
            if (site->is_store) {
                Stored *did = stored_of(s, site);
                ULong owned = s->count - did->other;
                if (owned == did->owned) continue;
                Flow *own = own_flow(s);
                own->bytes += (owned - did->owned) * site->register_size;
                own->transfers += owned - did->owned;
                did->owned = owned;
                continue;
            }
            Met *m = met_of(s, site);
            if (m->since == NEVER) continue;
            count_met(m, end);
            m->since = end;
        }
    }
}

static void say_calls(const Counts *edges)
{
    for (UInt i = 0; i < edges->count; i++) {
        const Counted *c = edges->row + i;
        if (!c->calls) continue;
        say4(c->a);
        say4(c->b);
        say4(c->c);
        say8(c->calls);
        say8(c->steps);
    }
}

static void say_rows(void)
{
    say_begin();
    say4(1);
    for (UInt i = 1; i < flow_count; i++) {
        const Flow *f = flow_at(i);
        if (!f->bytes) continue;
        UInt place = f->place;
        if (place & REGION && region_is_stack[place & ~REGION]) place |= STACK;
        say4(f->writer == STACK_START && !(place & STACK) ? UNINITIALISED : f->writer);
        say4(f->reader);
        say4(place);
        say8(f->bytes);
        say8(f->unique);
        say8(f->transfers);
        say8(f->addresses);
    }
    say_end(SAY_ROWS);
    say_begin();
    say4(2);
    for (UInt i = 1; i < function_room; i++) {
        const Function *f = functions + i;
        if (!f->calls && !f->written) continue;
        say4(i);
        say8(f->calls);
        say8(f->steps_self);
        say8(f->steps_total);
        say8(f->written);
    }
    say_end(SAY_ROWS);
    say_begin();
    say4(3);
    say_calls(&call_edges);
    say_end(SAY_ROWS);
    say_begin();
    say4(9);
    say_calls(&merged_calls);
    say_end(SAY_ROWS);
    say_begin();
    say4(4);
    for (UInt i = 0; i < contexts.count; i++) {
        const Counted *c = contexts.row + i;
        say4(c->a);
        say4(c->b);
        say8(c->calls);
        say8(c->steps);
    }
    say_end(SAY_ROWS);
    say_begin();
    say4(5);
    for (UInt i = 0; i < segment_count; i++) say8(segments[i]->count);
    say_end(SAY_ROWS);
    find_contexts();
    say_begin();
    say4(8);
    for (UInt i = 1; i < actor_count; i++) {
        const Actor *actor = actors[i];
        say4(actor->function);
        say4(actor->into ? actor->into->function : actor->function);
        say4(context_of(actor));
        say4(is_of_several(actor) | functions[actor->function].stub << 1);
        say8(actor->calls);
        say8(actor->steps);
    }
    say_end(SAY_ROWS);
}
