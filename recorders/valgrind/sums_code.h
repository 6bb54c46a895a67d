/* What blocks call when data flow is summed: where something is other than it was there last. A part of
 * addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

typedef struct Segment_ Segment;

/* A load, or a store of a register, in a segment. What it met last is counted when it meets something else. */
typedef struct {
    /* The cells that it found; no such where each time is looked at. */
    ULong cells[8];
    /* Addresses for which that holds: so many behind the first. */
    Addr low;
    ULong reach;
    /* The segment's run from which on it holds. */
    ULong since;
    Taken taken;
    const Segment *segment;
    UInt size;
    /* The register that is stored or loaded, unchanged; size 0: none. */
    UInt offset, register_size;
    Bool stack_relative;
    /* What the segment reads of the register that is loaded, at each run. */
    UInt fed_bytes, fed_transfers;
    /* Runs of a store that were not the instance's own register. */
    ULong other;
} Site;

/* A read of registers: pieces of one access. */
typedef struct {
    UShort offset, size;
    Bool more;
} RegisterRead;

struct Segment_ {
    ULong count;
    UInt function, first_step, steps, stored;
    UInt static_bytes, static_transfers;
    Bool stub;
    UInt reads;
    RegisterRead *read;
    /* The granules that are read, and the low halves of their tags when they were met last. */
    UInt granules;
    UShort *granule;
    UInt *met;
    ULong since;
    Taken taken;
    UInt sites;
    Site *site;
    UInt site_room;
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
static UInt segment_count, segment_room;

#define NEVER (~0ULL)

/* ---- registers ---- */

static void reads_over(Segment *s, ULong before)
{
    if (before > s->since) count_taken(&s->taken, before - s->since);
}

static VG_REGPARM(1) void registers_changed(Segment *s)
{
    ULong now = s->count;
    if (s->since != NEVER) reads_over(s, now);
    Bool again = True;
    s->taken.count = 0;
    for (UInt i = 0; i < s->reads;) {
        Parts p = { 0 };
        do {
            read_parts(&p, T.tag, T.mixed, s->read[i].offset, s->read[i].size);
            i++;
        } while (i < s->reads && s->read[i].more);
        again &= take_parts(&s->taken, &p, s->function);
    }
    for (UInt i = 0; i < s->granules; i++) s->met[i] = T.tag[s->granule[i]];
    s->since = now;
    if (again) return;
    count_taken(&s->taken, 1);
    s->since = NEVER;
    s->met[0] = ~0u;
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
static Bool take_cells(Site *s, Addr a, const Place *place)
{
    Bool all = True, had = False;
    const Cell *cell = cell_of(a);
    UInt unwritten = OF_PLACE, id = place->id, reader = s->segment->function;
    Links links = { 0 };
    if (id & REGION) unwritten = first_stack && a >= first_stack ? STACK_START : UNINITIALISED;
    for (UInt i = 0; i < s->size;) {
        UInt function = cell[i] & CELL_FUNCTION, n = 1;
        if (function == CELL_LINKED) {
            UInt number = *save_of(a + i);
            Bool new = new_link(&links, number) && !goes_on(a + i, function, a);
            take(&s->taken, flow(writer_of(linked[number].function), reader, id), 1, new);
            all = False;
            i++;
            continue;
        }
        while (i + n < s->size && (cell[i + n] & CELL_FUNCTION) == function && !(cell[i + n] & CELL_FIRST)) n++;
        UInt writer = function ? writer_of(function) : unwritten;
        /* What nobody wrote is one version. */
        Bool new = function ? !goes_on(a + i, function, a) : !had;
        all &= take(&s->taken, flow(writer, reader, id), n, new);
        had |= !function;
        i += n;
    }
    return all;
}

/* Bytes that lie at several places, or whose regions differ. `by_place`: a write is one transfer in each place, as the
 * kernel counts. */
static void read_apart(UInt reader, Addr a, ULong size, Bool by_place)
{
    UInt last = 0, last_id = 0, had_id = 0;
    Links links = { 0 };
    for (ULong i = 0; i < size; i++) {
        Place place = place_of(a + i);
        Cell c = *cell_of(a + i);
        UInt writer = c & CELL_FUNCTION;
        Bool new = !i || c & CELL_FIRST || writer != last || (by_place && place.id != last_id);
        last = writer;
        last_id = place.id;
        if (writer == CELL_LINKED) {
            UInt number = *save_of(a + i);
            writer = writer_of(linked[number].function);
            new = new_link(&links, number) && !goes_on(a + i, CELL_LINKED, a);
        } else if (writer) {
            new &= !goes_on(a + i, writer, a);
            writer = writer_of(writer);
        } else {
            writer = !(place.id & REGION) ? OF_PLACE : first_stack && a + i >= first_stack ? STACK_START : UNINITIALISED;
            UInt of = place.id & REGION && !by_place ? writer : place.id;
            new = had_id != of;
            had_id = of;
        }
        Flow *f = flow(writer, reader, place.id);
        f->bytes++;
        f->transfers += new;
    }
}

static void count_restore(Site *s, UInt number)
{
    if (!s->fed_transfers && !s->fed_bytes) return;
    Flow *own = flow(s->segment->function, s->segment->function, 0);
    own->bytes -= s->fed_bytes;
    own->transfers -= s->fed_transfers;
    UInt writer = FUNCTION_OF(saves[number].tag[0]);
    if (IS_MIXED(saves[number].tag[0])) problem(GUARDED_SAVES);
    Flow *f = flow(writer ? writer : INITIAL, s->segment->function, 0);
    f->bytes += s->fed_bytes;
    f->transfers += s->fed_transfers;
}

/* This run is not what will be counted: whatever comes next is looked at. */
static void look_again(Site *s)
{
    s->since = NEVER;
    s->cells[0] = ~0ULL;
    s->reach = 0;
}

static VG_REGPARM(2) void load_changed(Site *s, Addr a)
{
    ULong now = s->segment->count;
    if (s->since != NEVER && now > s->since) count_taken(&s->taken, now - s->since);
    s->taken.count = 0;
    look_again(s);
    if (!in_reach(a, s->size)) return problem(TOO_HIGH);
    UInt number = s->register_size ? restored(a, s->size, s->offset) : 0;
    if (number) {
        count_restore(s, number);
        return give_back(number);
    }
    expose_range(a, s->size);
    Place place = place_of(a);
    if (s->stack_relative && place.id & REGION) region_is_stack[place.id & ~REGION] = True;
    if (place.high - a < s->size) return read_apart(s->segment->function, a, s->size, False);
    if (!take_cells(s, a, &place) || s->size > 32) return count_taken(&s->taken, 1);
    s->since = now;
    s->low = place.low;
    s->reach = place.high - place.low - s->size;
    VG_(memcpy)(s->cells, cell_of(a), 2 * s->size);
}

/* A load that is not made each time. */
static VG_REGPARM(2) void load_once(Site *s, Addr a)
{
    if (!in_reach(a, s->size)) return problem(TOO_HIGH);
    UInt number = s->register_size ? restored(a, s->size, s->offset) : 0;
    if (number) {
        count_restore(s, number);
        return give_back(number);
    }
    expose_range(a, s->size);
    read_apart(s->segment->function, a, s->size, False);
}

static VG_REGPARM(3) void store_any(Addr a, UWord size, UWord function) { cells_write(a, size, function); }

static VG_REGPARM(3) void store_once(Addr a, UWord size, UWord function)
{
    function_of(function)->written += size;
    cells_write(a, size, function);
}

static VG_REGPARM(2) void store_split(Addr a, UWord size) { split_store(a, size); }

/* Behind an ordinary store of a register that is not wholly the instance's own. */
static VG_REGPARM(2) void store_register(Site *s, Addr a)
{
    s->other++;
    if (is_foreign(s->offset, s->register_size) && in_frame(a, s->size, s->stack_relative))
        return make_save(a, s->size, s->offset);
    Tag tag = T.tag[s->offset / 8];
    /* Mostly one writer, as last time. */
    UInt writer = FUNCTION_OF(tag);
    if (IS_MIXED(tag) || s->offset % 8 + s->register_size > 8) return read_now(s->offset, s->register_size, s->segment->function);
    if (!writer) writer = INITIAL;
    Flow *f = s->taken.count ? s->taken.of[0].flow : NULL;
    if (!f || f->writer != writer) f = flow(writer, s->segment->function, 0);
    s->taken.count = 1;
    s->taken.of[0].flow = f;
    f->bytes += s->register_size;
    f->transfers++;
}

static void forget_place(Addr low, Addr high)
{
    for (UInt i = 0; i < segment_count; i++) {
        const Segment *s = segments[i];
        for (UInt k = 0; k < s->sites; k++) {
            Site *site = s->site + k;
            if (site->since == NEVER || site->low >= high || site->low + site->reach + site->size <= low) continue;
            if (s->count + 1 > site->since) count_taken(&site->taken, s->count + 1 - site->since);
            look_again(site);
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

static void end_down_to(Int depth)
{
    while ((Int)T.depth > depth) end_instance();
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

/* Control arrives at a block by a call, a return, or in another function. */
static VG_REGPARM(2) void arrive(const Segment *s, Addr address)
{
    settle_steps();
    const Code *before = T.before;
    T.before = NULL;
    Bool falls = before && address == before->next;
    if (before && !falls && before->executed && before->kind == FLOW_CALL) {
        begin_instance(s->function, s->stub ? KIND_STUB : KIND_CALL, s->stub, before->next, T.slot);
        return set_top();
    }
    Int depth = -1;
    if (before && !falls && before->executed && (before->kind == FLOW_RETURN || before->kind == FLOW_EXCEPTION_RETURN)) {
        depth = frame_of_return(address, T.slot);
        if (depth < 0) depth = frame_of_resumed(address);
    }
    if (before && before->kind == FLOW_RESUMED) depth = frame_of_resumed(address);
    if (depth >= 0) end_down_to(depth);
    if (before && before->kind == FLOW_INTERRUPTED) {
        begin_instance(s->function, KIND_SIGNAL, s->stub, 0, 0);
        T.frames[T.depth - 1].resumes = T.interrupted_at;
        return set_top();
    }
    be_in(s->function, s->stub);
    set_top();
}

/* A way out that was taken in the middle of an instruction. */
static VG_REGPARM(1) void left_there(Segment *s)
{
    s->count++;
    steps_done += s->steps;
}

/* ---- the end ---- */

static void count_all(void)
{
    for (UInt i = 0; i < segment_count; i++) {
        Segment *s = segments[i];
        ULong end = s->count + 1;
        if (s->since != NEVER) reads_over(s, end);
        s->since = NEVER;
        if (s->count && s->static_transfers) {
            Flow *own = flow(s->function, s->function, 0);
            own->bytes += s->count * s->static_bytes;
            own->transfers += s->count * s->static_transfers;
        }
        function_of(s->function)->written += s->count * s->stored;
        for (UInt k = 0; k < s->sites; k++) {
            Site *site = s->site + k;
            if (site->register_size && site->other != NEVER) {
                Flow *own = flow(s->function, s->function, 0);
                own->bytes += (s->count - site->other) * site->register_size;
                own->transfers += s->count - site->other;
                continue;
            }
            if (site->since != NEVER && end > site->since) count_taken(&site->taken, end - site->since);
            site->since = NEVER;
        }
    }
}

static void say_rows(void)
{
    say_begin();
    say4(1);
    for (UInt i = 0; i < flow_room; i++) {
        const Flow *f = flows[i];
        if (!f || !(f->bytes | f->transfers)) continue;
        UInt place = f->place;
        if (place & REGION && region_is_stack[place & ~REGION]) place |= STACK;
        say4(f->writer == STACK_START && !(place & STACK) ? UNINITIALISED : f->writer);
        say4(f->reader);
        say4(place);
        say8(f->bytes);
        say8(f->transfers);
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
    for (UInt i = 0; i < call_edges.count; i++) {
        const Counted *c = call_edges.row + i;
        say4(c->a);
        say4(c->b);
        say4(c->c);
        say8(c->calls);
        say8(c->steps);
    }
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
}
