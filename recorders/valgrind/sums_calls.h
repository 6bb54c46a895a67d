/* Call instances, calling contexts, and their steps. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* As the tables have them (`function_call.kind`). */
enum { KIND_CALL, KIND_TAIL, KIND_SIGNAL, KIND_ROOT, KIND_STUB, KIND_GAP, KIND_FORK };
/* How an instruction goes on, as addfg counts them. */
enum { FLOW_NEXT, FLOW_JUMP, FLOW_CALL, FLOW_RETURN, FLOW_EXCEPTION_RETURN, FLOW_SYSCALL, FLOW_TRAP, FLOW_UNKNOWN,
    FLOW_INTERRUPTED, FLOW_RESUMED };

/* Who writes and reads (sums_actors.h). */
typedef struct Actor_ Actor;
typedef struct Segment_ Segment;
typedef struct State_ State;

struct Frame_ {
    UInt function, call, kind, context;
    Actor *actor;
    /* Where it returns to, and the slot that says so; 0: neither ends it. */
    Addr returns, slot;
    /* What interrupted it goes on at one of these; 0: none. */
    Addr resumes;
    ULong steps_self, steps_below;
    Bool outermost, waited;
    /* Its saves, the newest first. */
    UInt saves;
};

typedef struct {
    ULong calls, steps_self, steps_total, written;
    /* Who it is, and how many segments of it there are. */
    Actor *actors;
    UInt segments, segment_room;
    Bool stub;
} Function;

static Function *functions;
static UInt function_room;
/* Steps of all threads, and instances that began; those of the process that this one comes from. */
static ULong steps_done, steps_before;
static UInt calls_made, calls_before;

/* Live instances of all threads, by the end of their numbers: most that are not alive have none there. */
#define ALIVE 4096
static UInt alive[ALIVE];

static Function *function_of(UInt number)
{
    ROOM(functions, number, function_room);
    return functions + number;
}

/* Instances of the running thread that are alive. */
static UInt *live_of(UInt function)
{
    ROOM(T.live, function, T.live_room);
    return T.live + function;
}

/* ---- calls between functions, and chains of functions: by two or three numbers ---- */

typedef struct {
    UInt a, b, c, id;
    ULong calls, steps;
    /* Of contexts: the row of the one that was entered from here last, and of the call edge that ended last in it, and 1. */
    UInt last, edge;
} Counted;

/* A row and 1, with its hash: most of the others that are passed are not looked at. */
typedef struct {
    UInt hash, row;
} CountSlot;

typedef struct {
    Counted *row;
    CountSlot *slot;
    UInt count, room;
} Counts;

static Counts call_edges, contexts, merged_calls;

static CountSlot *count_slot(const Counts *t, UInt hash, UInt a, UInt b, UInt c)
{
    for (UInt i = hash;; i++) {
        CountSlot *slot = t->slot + (i & (t->room - 1));
        if (!slot->row) return slot;
        if (slot->hash != hash) continue;
        const Counted *row = t->row + slot->row - 1;
        if (row->a == a && row->b == b && row->c == c) return slot;
    }
}

static void more_counts(Counts *t)
{
    t->room = t->room ? t->room * 2 : 1024;
    t->row = VG_(realloc)("addfg.counts", t->row, t->room * sizeof *t->row);
    if (t->slot) VG_(free)(t->slot);
    t->slot = VG_(calloc)("addfg.counts", t->room, sizeof *t->slot);
    for (UInt n = 0; n < t->count; n++) {
        UInt i = hash_of_three(t->row[n].a, t->row[n].b, t->row[n].c);
        CountSlot new = { i, n + 1 };
        while (t->slot[i & (t->room - 1)].row) i++;
        t->slot[i & (t->room - 1)] = new;
    }
}

/* The row with these numbers; NULL if there is none and none is to be made. */
static Counted *counted(Counts *t, UInt a, UInt b, UInt c, Bool make)
{
    if (t->count * 2 >= t->room) more_counts(t);
    UInt hash = hash_of_three(a, b, c);
    CountSlot *slot = count_slot(t, hash, a, b, c);
    if (!slot->row) {
        if (!make) return NULL;
        Counted new = { a, b, c, t->count + 1, 0, 0, 0, 0 };
        t->row[t->count++] = new;
        slot->hash = hash;
        slot->row = t->count;
    }
    return t->row + slot->row - 1;
}

static void forget_counts(Counts *t)
{
    for (UInt i = 0; i < t->count; i++) t->row[i].calls = t->row[i].steps = 0;
}

/* As in `src/analysis/contexts.rs`. */
#define CONTEXT_DEPTH 1000
#define CONTEXT_MOST (1u << 18)
/* Calls that count as their callers' because there are more. */
static ULong contexts_left_out;

/* The context of a function that is called from another one (0: none); its depth is in `c`'s place of the row. */
static UInt enter_context(UInt parent, UInt function, Bool stub)
{
    if (parent && stub) return parent;
    UInt last = parent ? contexts.row[parent - 1].last : 0;
    if (last && contexts.row[last - 1].b == function) {
        contexts.row[last - 1].calls++;
        return last;
    }
    UInt depth = parent ? contexts.row[parent - 1].c + 1 : 0;
    Counted *known = counted(&contexts, parent, function, depth, False);
    if (!known) {
        if (parent && depth >= CONTEXT_DEPTH) known = contexts.row + parent - 1;
        else if (parent && contexts.count >= CONTEXT_MOST) {
            contexts_left_out++;
            known = contexts.row + parent - 1;
        } else known = counted(&contexts, parent, function, depth, True);
    }
    known->calls++;
    if (parent && known->a == parent) contexts.row[parent - 1].last = known->id;
    return known->id;
}

#include "sums_actors.h"

/* ---- instances ---- */

static void saves_end(UInt first);
/* An instance has waited on a stack, and ends (sums_stacks.h). */
static void forget_waited(UInt call);

static void set_top(void)
{
    if (!T.depth) return;
    const Frame *top = T.frames + T.depth - 1;
    T.own = top->actor->number | (Tag)top->call << 32;
    T.states = top->actor->state;
    T.arrived = T.moved ? 0 : top->function;
    T.key = (ULong)top->call << 32 | READ_KEY;
}

/* What was done since it was looked at last the instance on top did. */
static void settle_steps(void)
{
    if (T.depth) T.frames[T.depth - 1].steps_self += steps_done - T.seen;
    T.steps += steps_done - T.seen;
    T.seen = steps_done;
}

static void begin_instance(UInt function, UInt kind, Bool stub, Addr returns, Addr slot)
{
    ROOM(T.frames, T.depth, T.room);
    const Frame *above = T.depth ? T.frames + T.depth - 1 : NULL;
    function_of(function)->stub = stub;
    Frame new = { function, ++calls_made, kind, 0, NULL, returns, slot, 0, 0, 0, (*live_of(function))++ == 0, False, 0 };
    new.context = enter_context(above ? above->context : 0, function, stub);
    new.actor = begin_actor(new.context, function, above && stub ? above->actor : NULL);
    alive[new.call % ALIVE]++;
    T.frames[T.depth++] = new;
}

/* An instance of a stub is its caller's, and what it calls is called by that. `caller`: NULL, there is none. */
static void merge_stub(Frame *f, const Frame *caller, ULong sign, ULong total)
{
    const Actor *by = caller && functions[caller->function].stub ? caller->actor : NULL;
    UInt from = by ? (by->into ? by->into : by)->function : 0;
    if (functions[f->function].stub) {
        f->actor->calls += sign;
        f->actor->steps += sign * f->steps_self;
        if (f->actor->into) return;
        from = 0;
    } else if (!by) return;
    Counted *row = counted(&merged_calls, from, f->function, f->kind, True);
    row->calls += sign;
    row->steps += sign * total;
}

static void end_instance(void)
{
    Frame *f = T.frames + --T.depth;
    alive[f->call % ALIVE]--;
    if (f->waited) forget_waited(f->call);
    if (f->saves) saves_end(f->saves);
    Function *of = functions + f->function;
    ULong total = f->steps_self + f->steps_below;
    (*live_of(f->function))--;
    of->calls++;
    of->steps_self += f->steps_self;
    if (f->outermost) of->steps_total += total;
    contexts.row[f->context - 1].steps += f->steps_self;
    UInt caller = 0;
    merge_stub(f, T.depth ? f - 1 : NULL, 1, total);
    if (T.depth) {
        f[-1].steps_below += total;
        caller = f[-1].function;
    }
    UInt *hint = &contexts.row[f->context - 1].edge;
    Counted *edge = *hint ? call_edges.row + *hint - 1 : NULL;
    if (!edge || edge->a != caller || edge->b != f->function || edge->c != f->kind) {
        edge = counted(&call_edges, caller, f->function, f->kind, True);
        *hint = edge->id;
    }
    edge->calls++;
    edge->steps += total;
}

/* Control is in a function: another one than the instance's is a tail call. */
static void be_in(UInt function, Bool stub)
{
    if (T.depth && T.frames[T.depth - 1].function == function) return;
    Addr returns = 0, slot = 0, resumes = 0;
    UInt kind = KIND_ROOT;
    if (T.depth) {
        const Frame *f = T.frames + T.depth - 1;
        returns = f->returns;
        slot = f->slot;
        resumes = f->resumes;
        kind = KIND_TAIL;
        end_instance();
    }
    begin_instance(function, kind, stub, returns, slot);
    T.frames[T.depth - 1].resumes = resumes;
}

static void end_all_instances(void)
{
    settle_steps();
    while (T.depth) end_instance();
}

/* What the running thread's live instances have done is added, or taken away again: they go on. */
static void count_live_instances(ULong sign)
{
    ULong below = 0;
    for (UInt depth = T.depth; depth > 0; depth--) {
        Frame *f = T.frames + depth - 1;
        Function *of = functions + f->function;
        ULong total = f->steps_self + f->steps_below + below;
        merge_stub(f, depth > 1 ? f - 1 : NULL, sign, total);
        of->calls += sign;
        of->steps_self += sign * f->steps_self;
        if (f->outermost) of->steps_total += sign * total;
        contexts.row[f->context - 1].steps += sign * f->steps_self;
        Counted *edge = counted(&call_edges, depth > 1 ? f[-1].function : 0, f->function, f->kind, True);
        edge->calls += sign;
        edge->steps += sign * total;
        below = total;
    }
}
