/* What blocks call when data flow is summed: where something is other than it was there last. A part of
 * addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

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
    Segment *segment;
    UInt size;
    /* The register that is stored or loaded, unchanged; size 0: none. */
    UInt offset, register_size;
    Bool stack_relative;
    /* What the segment reads of the register that is loaded, at each run. */
    UInt fed_bytes, fed_transfers;
    /* Which of its bytes; times that the load was a restore, and how many of them were looked at by `share_segments`. */
    ULong fed, restores, restores_seen;
    /* Runs of its store that are in the sums as reads of the instance's own register. */
    ULong owned;
    /* Runs of a store that were not the instance's own register. */
    ULong other;
} Site;

/* A read of registers: pieces of one access. */
typedef struct {
    UShort offset, size;
    Bool more;
} RegisterRead;

/* Straight code of one function, and what an actor has done there: as it was translated (`segments`), and a copy for each
 * actor that has run it (`states`), in one piece with its sites. */
struct Segment_ {
    ULong count;
    /* The cells of a store of the actor: the first four, and others. */
    ULong first_cells, cells;
    UInt actor, function, first_step, steps, stored;
    /* Its number in the function. */
    UInt at;
    Segment *code;
    Actor *of;
    UInt static_bytes, static_transfers, static_unique;
    Bool stub;
    /* From the function to itself in registers; bytes that it surely hands to itself. */
    Flow *own;
    UInt inside;
    struct { UShort offset, size; } *in;
    /* Runs that are in the sums; that `share_segments` has looked at, and the threads in which it knows of them. */
    ULong counted, shared, threads;
    UInt reads;
    RegisterRead *read;
    /* The granules that are read, and the low halves of their tags when they were met last. */
    UInt granules;
    UShort *granule;
    UChar *bytes;
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

static Segment **segments, **states;
static UInt segment_count, segment_room, state_count, state_room;

#define NEVER (~0ULL)

/* ---- registers ---- */

static void reads_over(Segment *s, ULong before)
{
    if (before > s->since) count_taken(&s->taken, before - s->since);
}

static Flow *own_flow(Segment *s)
{
    if (!s->own) s->own = flow(s->actor, s->actor, 0);
    return s->own;
}

static void registers_changed(Segment *s)
{
    ULong now = s->count;
    if (s->since != NEVER) reads_over(s, now);
    Bool again = True;
    s->taken.count = 0;
    for (UInt i = 0; i < s->reads;) {
        Parts p = { 0 };
        do {
            read_held(&p, s->read[i].offset, s->read[i].size);
            i++;
        } while (i < s->reads && s->read[i].more);
        again &= take_parts(&s->taken, &p, s->actor);
    }
    for (UInt i = 0; i < s->granules; i++) s->met[i] = T.tag[s->granule[i]];
    s->since = now;
    if (again) return;
    count_taken(&s->taken, 1);
    s->since = NEVER;
    s->met[0] = ~0u;
}

/* The registers that a segment reads are others than last time, or the instance has not read all of them. */
static VG_REGPARM(1) void registers_met(Segment *s)
{
    UInt differs = 0;
    for (UInt i = 0; i < s->granules; i++) differs |= s->met[i] ^ (UInt)T.tag[s->granule[i]];
    if (differs) registers_changed(s);
    for (UInt i = 0; i < s->granules && counts_unique; i++) {
        UInt g = s->granule[i];
        if ((T.reader[g] ^ T.key) & (READER_BITS | s->bytes[i])) read_granule(g, s->bytes[i], s->actor, own_flow(s), &s->taken);
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
static Bool take_cells(Site *s, Addr a, const Place *place)
{
    Bool all = True, had = False;
    const Cell *cell = cell_of(a);
    UInt unwritten = OF_PLACE, id = place->id, reader = s->segment->actor;
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

/* Who wrote a byte, as a flow to a reader; `place`: where it lies. */
static Flow *flow_of_byte(Addr a, UInt reader, const Place *place)
{
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
        UInt new = note_reader(reader_at(at), at, bytes_in(at, a, a + size), READER(T.key));
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
        if (!by_place || !counts_unique) continue;
        /* Each time that the kernel reads is a reader of its own. */
        f->unique++;
        share_memory(f, a + i, 1u << ((a + i) & 7));
    }
    if (!by_place) first_reads(a, size, reader, NULL);
}

static void count_restore(Site *s, UInt number)
{
    s->restores++;
    if (!s->fed_transfers && !s->fed_bytes) return;
    Flow *own = flow(s->segment->actor, s->segment->actor, 0);
    for (ULong fed = s->fed; fed; fed &= fed - 1) own->unique--;
    own->bytes -= s->fed_bytes;
    own->transfers -= s->fed_transfers;
    UInt writer = FUNCTION_OF(saves[number].tag[0]);
    if (IS_MIXED(saves[number].tag[0])) problem(GUARDED_SAVES);
    Flow *f = flow(writer ? writer : INITIAL, s->segment->actor, 0);
    f->bytes += s->fed_bytes;
    f->transfers += s->fed_transfers;
}

/* A load gives a register its old writers back. */
static void restore(Site *s, UInt number)
{
    count_restore(s, number);
    give_back(number);
    for (UInt i = 0; counts_unique && i < 64 && s->fed >> i; i++)
        if (s->fed >> i & 1) read_registers(s->offset + i, 1, s->segment->actor, NULL);
}

/* Memory that has no image and that is accessed from the stack pointer is a stack: also where an access begins below it. */
static void note_stack(const Site *s, Addr a)
{
    for (Addr at = a; s->stack_relative && at < a + s->size;) {
        Place place = place_of(at);
        if (place.id & REGION) region_is_stack[place.id & ~REGION] = True;
        at = place.high;
    }
}

/* This run is not what will be counted: whatever comes next is looked at. */
static void look_again(Site *s)
{
    s->since = NEVER;
    s->cells[0] = ~0ULL;
    s->reach = 0;
}

/* False: it was a restore, or all of it has been counted. */
static Bool load_changed(Site *s, Addr a)
{
    ULong now = s->segment->count;
    if (s->since != NEVER && now > s->since) count_taken(&s->taken, now - s->since);
    s->taken.count = 0;
    look_again(s);
    if (!in_reach(a, s->size)) {
        problem(TOO_HIGH);
        return False;
    }
    UInt number = s->register_size ? restored(a, s->size, s->offset) : 0;
    if (number) {
        restore(s, number);
        return False;
    }
    expose_range(a, s->size);
    note_stack(s, a);
    Place place = place_of(a);
    if (place.high - a < s->size) {
        read_apart(s->segment->actor, a, s->size, False);
        return False;
    }
    if (!take_cells(s, a, &place) || s->size > 32) {
        count_taken(&s->taken, 1);
        return True;
    }
    s->since = now;
    s->low = place.low;
    s->reach = place.high - place.low - s->size;
    VG_(memcpy)(s->cells, cell_of(a), 2 * s->size);
    return True;
}

static inline Bool same_cells(const Site *s, Addr a)
{
    const Cell *now = cell_of(a), *met = (const Cell *)s->cells;
    if (s->size == 1) return *now == *met;
    if (s->size < 4 || s->size & 3) return !VG_(memcmp)(met, now, 2 * s->size);
    for (UInt i = 0; i < s->size; i += 4)
        if (*(const ULong *)(now + i) != *(const ULong *)(met + i)) return False;
    return True;
}

/* A load finds something else than last time, or what its instance has not read. */
static VG_REGPARM(2) void load_met(Site *s, Addr a)
{
    Bool same = s->since != NEVER && a - s->low <= s->reach && same_cells(s, a);
    if (!same && !load_changed(s, a)) return;
    Bool one = s->since != NEVER && s->taken.count == 1;
    first_reads(a, s->size, s->segment->actor, one ? s->taken.of[0].flow : NULL);
}

/* A load that is not made each time. */
static VG_REGPARM(2) void load_once(Site *s, Addr a)
{
    if (!in_reach(a, s->size)) return problem(TOO_HIGH);
    UInt number = s->register_size ? restored(a, s->size, s->offset) : 0;
    if (number) return restore(s, number);
    expose_range(a, s->size);
    note_stack(s, a);
    read_apart(s->segment->actor, a, s->size, False);
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
static VG_REGPARM(2) void store_register(Site *s, Addr a)
{
    if (is_own(s)) return read_registers(s->offset, s->register_size, s->segment->actor, own_flow(s->segment));
    s->other++;
    if (is_foreign(s->offset, s->register_size) && in_frame(a, s->size, s->stack_relative))
        return make_save(a, s->size, s->offset);
    Tag tag = T.tag[s->offset / 8];
    /* Mostly one writer, as last time. */
    UInt writer = FUNCTION_OF(tag);
    if (IS_MIXED(tag) || s->offset % 8 + s->register_size > 8) return read_now(s->offset, s->register_size, s->segment->actor);
    if (!writer) writer = INITIAL;
    Flow *f = s->taken.count ? s->taken.of[0].flow : NULL;
    if (!f || f->writer != id_of(writer)) f = flow(writer, s->segment->actor, 0);
    s->taken.count = 1;
    s->taken.of[0].flow = f;
    f->bytes += s->register_size;
    f->transfers++;
    if (counts_unique) read_registers(s->offset, s->register_size, s->segment->actor, f);
}

static void forget_place(Addr low, Addr high)
{
    for (UInt i = 0; i < state_count; i++) {
        const Segment *s = states[i];
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
    Bool resumed_here = before && before->kind == FLOW_RESUMED;
    if (resumed_here) depth = frame_of_resumed(address);
    if (depth >= 0) end_down_to(depth);
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
static VG_REGPARM(1) void begin_state(const Segment *code)
{
    Actor *actor = T.frames[T.depth - 1].actor;
    SizeT bytes = (Addr)(code->met + code->granules + 1) - (Addr)code;
    Segment *new = VG_(malloc)("addfg.state", bytes);
    VG_(memcpy)(new, code, bytes);
    new->count = 0;
    new->of = actor;
    new->actor = actor->number;
    new->cells = actor->number * 0x0001000100010001ULL;
    new->first_cells = new->cells | CELL_FIRST;
    new->site = (Site *)(new + 1);
    new->met = (UInt *)((Addr)new + ((Addr)code->met - (Addr)code));
    for (UInt k = 0; k < new->sites; k++) new->site[k].segment = new;
    actor->state[code->at] = new;
    ROOM(states, state_count, state_room);
    states[state_count++] = new;
}

/* A way out that was taken in the middle of an instruction. */
static VG_REGPARM(1) void left_there(Segment *s)
{
    s->count++;
    steps_done += s->steps;
}

/* ---- what segments hand to themselves ---- */

/* The running thread shares what segments that have run since hand to themselves in its registers. */
static void share_segments(void)
{
    ULong thread = T.serial < 64 ? 1ULL << T.serial : 0;
    for (UInt i = 0; i < state_count && counts_unique; i++) {
        Segment *s = states[i];
        ULong ran = s->count - s->shared;
        if (!ran) continue;
        s->shared = s->count;
        for (UInt k = 0; k < s->inside && !(s->threads & thread); k++) share_inside(own_flow(s), s->in[k].offset, s->in[k].size);
        s->threads |= thread;
        for (UInt k = 0; k < s->sites; k++) {
            Site *site = s->site + k;
            ULong restores = site->restores - site->restores_seen;
            site->restores_seen = site->restores;
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
        Segment *s = states[i];
        ULong end = s->count + 1, runs = s->count - s->counted;
        s->counted = s->count;
        s->code->count += runs;
        if (s->since != NEVER) {
            reads_over(s, end);
            s->since = end;
        }
        if (runs && s->static_transfers) {
            Flow *own = own_flow(s);
            own->bytes += runs * s->static_bytes;
            own->transfers += runs * s->static_transfers;
            own->unique += runs * s->static_unique;
        }
        function_of(s->function)->written += runs * s->stored;
        for (UInt k = 0; k < s->sites; k++) {
            Site *site = s->site + k;
            if (site->register_size && site->other != NEVER) {
                Flow *own = own_flow(s);
                ULong owned = s->count - site->other;
                own->bytes += (owned - site->owned) * site->register_size;
                own->transfers += owned - site->owned;
                site->owned = owned;
                continue;
            }
            if (site->since == NEVER) continue;
            if (end > site->since) count_taken(&site->taken, end - site->since);
            site->since = end;
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
    for (UInt i = 0; i < flow_room; i++) {
        const Flow *f = flows[i];
        if (!f || !f->bytes) continue;
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
