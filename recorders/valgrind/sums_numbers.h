/* Numbers of actors that wrote nothing which is still there are given back; if those are few, actors that began seldom
 * of late become their functions, without a context. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

typedef __typeof__(T) Thread;

/* By number: it is somewhere; it runs. */
enum { WROTE = 1, RUNS = 2 };
static UChar *in_use;
/* By number what it becomes; NULL: none changes. */
static UInt *becomes;

static UInt seen_number(UInt number)
{
    if (!number || number >= NUMBERS) return number;
    if (becomes) return becomes[number] ? becomes[number] : number;
    in_use[number] |= WROTE;
    return number;
}

static void see_tag(Tag *tag)
{
    if (!IS_MIXED(*tag)) *tag = (*tag & ~(Tag)0x1fffffff) | seen_number(FUNCTION_OF(*tag));
}

static void see_mixed(Mixed *mixed)
{
    for (UInt i = 0; i < 8; i++) see_tag(&(*mixed)[i].tag);
}

/* Those of the running thread. */
static void see_frames(void)
{
    for (UInt d = 0; d < T.depth && !becomes; d++) in_use[T.frames[d].actor->number] |= RUNS;
}

static void see_thread(Thread *t)
{
    for (UInt d = 0; d < t->depth && !becomes; d++) in_use[t->frames[d].actor->number] |= RUNS;
    for (UInt g = 0; g <= GRANULES; g++) {
        see_tag(t->tag + g);
        if (g == GRANULES || !IS_MIXED(t->tag[g])) continue;
        see_mixed(t->mixed + g);
        if (becomes) t->tag[g] = number_of_parted(t->mixed[g]) | TAG_MIXED | (t->tag[g] & TAG_BEHIND) | (Tag)CALL_OF(t->tag[g]) << 32;
    }
}

static void see_saves(void)
{
    for (UInt n = 1; n < save_count; n++) {
        Save *s = saves + n;
        UInt granules = (s->offset + s->size - 1) / 8 - s->offset / 8 + 1;
        if (!s->live) continue;
        for (UInt g = 0; g < granules && g < SAVED_GRANULES; g++) {
            see_tag(s->tag + g);
            if (IS_MIXED(s->tag[g])) see_mixed(s->mixed + g);
        }
        see_tag(&s->behind);
    }
}

static void see_cells(Addr a, ULong bytes)
{
    UInt last = 0, last_seen = 0;
    for (Cell *cell = cell_of(a), *end = cell + bytes; cell < end; cell++, a++) {
        UInt number = *cell & CELL_FUNCTION;
        if (number == CELL_LINKED) {
            Linked *l = linked + *save_of(a);
            l->function = seen_number(l->function);
            continue;
        }
        if (number != last) {
            last = number;
            last_seen = seen_number(number);
        }
        if (last_seen != number) *cell = (*cell & ~CELL_FUNCTION) | last_seen;
    }
}

/* Pages of cells that have been touched: the system says so of each. */
#define TOUCHED (3ULL << 62)
static void see_memory(void)
{
    static ULong page[4096];
    SysRes opened = VG_(open)("/proc/self/pagemap", VKI_O_RDONLY, 0);
    Int file = sr_isError(opened) ? -1 : sr_Res(opened);
    Addr one;
    Int count = VG_(am_get_segment_starts)(SkFileC | SkAnonC | SkShmC, &one, 1), room = count < 0 ? -count : count;
    Addr *start = VG_(malloc)("addfg.segments", (room + 1) * sizeof *start);
    count = VG_(am_get_segment_starts)(SkFileC | SkAnonC | SkShmC, start, room);
    for (Int i = 0; i < count; i++) {
        const NSegment *s = VG_(am_find_nsegment)(start[i]);
        if (!s || in_areas(s->start)) continue;
        /* Nobody says what is touched of what is only reserved, and may be large. */
        if (file < 0 && !s->hasR && !s->hasW && !s->hasX) continue;
        Addr first = folded(s->start), end = first + (s->end + 1 - s->start);
        for (Addr a = first; a < end && a < TOP_ADDRESS;) {
            if (home_of(a) != a) {
                a = end_of_piece(a, end);
                continue;
            }
            /* A page of cells is of half a page of memory. */
            Addr own = end_of_piece(a, end);
            ULong pages = (own - a) / 2048 < 4096 ? (own - a) / 2048 : 4096;
            OffT at = (CELLS_AT + 2 * a) / 4096 * 8;
            Bool known = file >= 0 && VG_(lseek)(file, at, VKI_SEEK_SET) == at
                && VG_(read)(file, page, pages * 8) == (Int)(pages * 8);
            for (ULong k = 0; k < pages; k++, a += 2048)
                if (!known || page[k] & TOUCHED) see_cells(a, 2048);
        }
    }
    VG_(free)(start);
    if (file >= 0) VG_(close)(file);
    see_shared_files();
}

static void see_all(void)
{
    see_thread(&T);
    each_waiting(&see_frames);
    for (ThreadId tid = 1; tid < sums_thread_room; tid++)
        if (sums_thread[tid] && tid != sums_running) see_thread(sums_thread[tid]);
    see_saves();
    see_memory();
}

/* What was met last is not known any more: numbers have changed. */
static void forget_met(void)
{
    UInt kept = 0;
    for (UInt i = 0; i < state_count; i++) {
        State *s = states[i];
        /* It has none now, or another one. */
        if (s->of->number != s->actor) {
            free_state(s);
            continue;
        }
        s->index = kept;
        state_places[kept] = s->places = 0;
        states[kept++] = s;
        s->own = 0;
        s->since = NEVER;
        if (s->code->granules) s->met[0] = ~0u;
        for (UInt k = 0; k < s->code->sites; k++) {
            const Site *site = s->code->site + k;
            if (site->is_store) stored_of(s, site)->flow = 0;
            else {
                met_of(s, site)->taken.count = 0;
                look_again(met_of(s, site));
            }
        }
    }
    state_count = kept;
}

/* Gives the number of those that stay. */
static UInt give_back_unused(void)
{
    UInt kept = 0;
    free_numbers = 0;
    for (Int n = 1; n < given; n++) {
        if (numbered[n] && in_use[n]) {
            kept++;
            continue;
        }
        if (numbered[n]) numbered[n]->number = 0;
        numbered[n] = NULL;
        free_number[free_numbers++] = n;
    }
    return kept;
}

/* Actors that began no more than so often become their functions. */
static void merge(UInt most)
{
    for (Int n = 1; n < given; n++) {
        Actor *actor = numbered[n];
        if (!actor || !actor->chain || in_use[n] & RUNS || actor->lately > most) continue;
        Actor *to = actor_of_several(actor->function);
        actor->number = 0;
        if (to->number) {
            becomes[n] = to->number;
            numbered[n] = NULL;
            continue;
        }
        /* It takes the number over. */
        if (to->state) VG_(free)(to->state);
        have_number(to, n);
        to->state = actor->state;
        actor->state = NULL;
        for (UInt k = 0; k < functions[to->function].segments; k++)
            if (to->state[k]) to->state[k]->of = to;
    }
}

static void free_states(void)
{
    forget_met();
    for (UInt i = 1; i < actor_count; i++) {
        Actor *a = actors[i];
        if (a->number) continue;
        if (a->state) VG_(free)(a->state);
        a->state = NULL;
    }
}

/* Steps between two looks for numbers, and looks that may come sooner. */
#define COLLECT_STEPS 20000000
#define SOON 16

static void collect_numbers(void)
{
    share_segments();
    count_all();
    in_use = VG_(calloc)("addfg.numbers", NUMBERS, 1);
    see_all();
    /* Parts that are known may name who is none now. */
    parted_from = parted_count;
    VG_(memset)(parted_slot, 0, parted_slots * sizeof *parted_slot);
    /* Contexts come and go so fast that a look each time would take most of the time. */
    static ULong last;
    static UInt looks;
    Bool often = looks++ >= SOON && steps_done - last < COLLECT_STEPS;
    last = steps_done;
    UInt kept = give_back_unused();
    if (kept > (UInt)numbers * 3 / 4) {
        becomes = VG_(calloc)("addfg.numbers", NUMBERS, sizeof *becomes);
        for (UInt most = 1; kept > (UInt)numbers / 2 && most < 1u << 30; most *= 4) {
            merge(most);
            kept = 0;
            for (Int n = 1; n < given; n++) kept += numbered[n] != NULL;
        }
        see_all();
        VG_(free)(becomes);
        becomes = NULL;
        free_numbers = 0;
        for (Int n = 1; n < given; n++)
            if (!numbered[n]) free_number[free_numbers++] = n;
        often = True;
    }
    if (often && calls_for_actor < 1u << 30) calls_for_actor *= 2;
    free_states();
    if (free_numbers < (UInt)numbers / 16) collect_from = steps_done + COLLECT_STEPS;
    for (UInt i = 1; i < actor_count; i++) actors[i]->lately /= 2;
    VG_(free)(in_use);
}
