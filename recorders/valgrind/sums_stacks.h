/* Stacks between which a thread goes to and fro by itself: rule 8 of "Control transfers" in docs/semantics.md, as
 * `src/analysis/stacks.rs` has it. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* How far the first frame of a thread's own stack may reach above the slot of what it called. */
#define FIRST_FRAME 8192
/* So much more than its slot may be popped with a frame. */
#define POPPED 256

/* Calls that wait on a stack: its highest address, and the stack pointer that it left. */
typedef struct {
    Addr left, base;
    /* Where what was called from it ran then, if that was elsewhere: the stack pointer that it left (0: it was not), and the
     * highest address. */
    Addr low, high;
    ULong number;
    Frame *frames;
    UInt depth, room;
} Waiting;

/* Those of all threads, by the stack pointer that they left. */
static Waiting **waiting;
static UInt waiting_count, waiting_room;
/* How many there have been. */
static ULong waits_so_far;

/* The stack pointer has moved. `above`: return addresses that stand above it, each behind where it stands. */
static void sums_stack_moved(Addr before, Addr behind, const ULong *above, UInt numbers)
{
    if (!summing) return;
    if (!T.moved) T.moved_before = folded(before);
    T.moved_behind = folded(behind);
    T.moved = True;
    T.above = numbers;
    for (UInt i = 0; i < numbers; i += 2) {
        T.returns_above[i] = folded(above[i]);
        T.returns_above[i + 1] = above[i + 1];
    }
    /* What control does is to be found out. */
    T.arrived = 0;
}

/* ---- instances that are alive, and have waited: by number, 0: none ---- */

static UInt *have_waited, have_waited_count, have_waited_room;

static UInt place_of_waited(UInt call)
{
    UInt i = call * 0x9e3779b1u >> 7;
    while (have_waited[i & (have_waited_room - 1)] && have_waited[i & (have_waited_room - 1)] != call) i++;
    return i & (have_waited_room - 1);
}

static Bool has_waited(UInt call) { return have_waited_count && have_waited[place_of_waited(call)]; }

static void note_waited(UInt call)
{
    if (have_waited_count * 2 >= have_waited_room) {
        UInt *old = have_waited, room = have_waited_room;
        have_waited_room = room ? room * 2 : 1024;
        have_waited = VG_(calloc)("addfg.waited", have_waited_room, sizeof *have_waited);
        for (UInt i = 0; i < room; i++)
            if (old[i]) have_waited[place_of_waited(old[i])] = old[i];
        if (old) VG_(free)(old);
    }
    have_waited[place_of_waited(call)] = call;
    have_waited_count++;
}

static void forget_waited(UInt call)
{
    UInt i = place_of_waited(call);
    have_waited[i] = 0;
    have_waited_count--;
    /* Those behind it may have been put there because of it. */
    for (UInt next = i + 1; have_waited[next & (have_waited_room - 1)]; next++) {
        UInt other = have_waited[next & (have_waited_room - 1)];
        have_waited[next & (have_waited_room - 1)] = 0;
        have_waited[place_of_waited(other)] = other;
    }
}

/* ---- stacks ---- */

/* Live instances of the running thread are as many more. */
static void count_live(const Frame *frames, UInt depth, UInt sign)
{
    for (UInt d = 0; d < depth; d++) *live_of(frames[d].function) += sign;
}

/* The running thread's calls are those that waited, and the other way round. */
static void swap_stack(Waiting *w)
{
    Frame *frames = T.frames;
    UInt depth = T.depth, room = T.room;
    count_live(frames, depth, ~0u);
    count_live(w->frames, w->depth, 1);
    T.frames = w->frames;
    T.depth = w->depth;
    T.room = w->room;
    w->frames = frames;
    w->depth = depth;
    w->room = room;
}

/* Does something with the calls of each stack that waits, as if it ran. */
static void each_waiting(void (*what)(void))
{
    for (UInt i = 0; i < waiting_count; i++) {
        swap_stack(waiting[i]);
        what();
        swap_stack(waiting[i]);
    }
}

static void free_waiting(Waiting *w)
{
    if (w->frames) VG_(free)(w->frames);
    VG_(free)(w);
}

/* How many have left a stack pointer below this one. */
static UInt waiting_below(Addr address)
{
    UInt low = 0, high = waiting_count;
    while (low < high) {
        UInt mid = (low + high) / 2;
        if (waiting[mid]->left < address) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The one with an address: they lie beside each other. Or the newest whose calls were there. -1: none. */
static Int stack_of(Addr address)
{
    UInt below = waiting_below(address + 1);
    if (below && address <= waiting[below - 1]->base) return (Int)below - 1;
    Int found = -1;
    for (UInt i = 0; i < waiting_count; i++) {
        const Waiting *w = waiting[i], *known = found < 0 ? w : waiting[found];
        if (w->low && w->low <= address && (w->low > known->low || (w->low == known->low && w->number >= known->number))) found = i;
    }
    return found >= 0 && address <= waiting[found]->high ? found : -1;
}

/* The highest address of the stack that runs, as far as is known. */
static Addr base_of(const Frame *f, UInt depth, Addr base, Addr pointer)
{
    UInt d = 0;
    if (base) return base;
    while (d < depth && !f[d].slot) d++;
    return (d < depth ? f[d].slot : pointer) + FIRST_FRAME;
}

static Addr base_of_stack(Addr pointer) { return base_of(T.frames, T.depth, T.base, pointer); }

/* A return took its address from a slot. `base`: the highest address of the stack, if the thread is away from it. `ends`: a
 * call; if it ends none, the stack has begun in the midst of its calls. */
static void returns_from(Addr slot, Addr base, Bool ends)
{
    if (T.away && slot >= T.away && slot <= base) T.away = 0;
    if (!ends && !T.away && T.base && slot > T.base) T.base = slot;
}

/* A stack was copied elsewhere, and goes on there in the instance at a depth, where the slot of what that had called would be:
 * all that lay there is as far from where it was. Gives how far; 0: it is not known. */
static Addr shifted(Frame *f, UInt depth_of_all, Addr low, Addr base, UInt depth, Addr slot)
{
    Addr called = depth + 1 < depth_of_all ? f[depth + 1].slot : 0, by = called ? slot - called : 0;
    for (UInt d = 0; by && d < depth_of_all; d++)
        if (f[d].slot >= low && f[d].slot <= base) f[d].slot += by;
    return by;
}

/* That of the stack that runs. */
static Bool relocate(Addr low, Addr base, Int depth, Addr slot)
{
    Addr by = shifted(T.frames, T.depth, low, base, depth, slot);
    if (!by) return False;
    T.base = base + by;
    T.away = 0;
    return True;
}

/* The highest address of the stack on which the innermost calls run, which is not the one between two addresses. */
static Addr highest_elsewhere(Addr low, Addr base, Addr pointer)
{
    for (UInt d = T.depth; d-- > 0;) {
        Addr top = T.frames[d].slot;
        /* Outwards they are higher. */
        if (!top || (top >= low && top <= base) || top < pointer) break;
        pointer = top;
    }
    return pointer;
}

/* How control goes on in calls. */
typedef enum { NOWHERE, RETURNS, IS_THERE } GoesOn;

/* In the instance of which the return address was there, or in the newest one of the function whose frame the stack pointer
 * is in. `depth`: of it. */
static GoesOn goes_on_in(const Frame *f, UInt depth, UInt function, Bool is_entry, Addr returns, Addr pointer, UInt *at)
{
    for (UInt d = depth; returns && d-- > 0;) {
        if (f[d].returns != returns || f[d].slot != pointer) continue;
        *at = d;
        return RETURNS;
    }
    for (UInt d = depth; !is_entry && d-- > 0;) {
        Bool below = !f[d].slot || pointer < f[d].slot, above = d + 1 == depth || !f[d + 1].slot || f[d + 1].slot <= pointer;
        if (f[d].function != function || !below || !above) continue;
        *at = d;
        return IS_THERE;
    }
    return NOWHERE;
}

/* How many of the return addresses that stand on the stack, on which a call of the instance at a depth would have this slot, are
 * of these calls. */
static UInt stands_there(const Frame *f, UInt depth_of_all, UInt depth, Addr slot)
{
    UInt fits = 0;
    if (depth + 1 >= depth_of_all || !f[depth + 1].slot) return 0;
    Addr by = slot - f[depth + 1].slot;
    for (UInt d = 0; d <= depth; d++) {
        Bool stands = False;
        for (UInt i = 0; i < T.above; i += 2)
            stands |= f[d].slot && f[d].slot + by == T.returns_above[i] && f[d].returns == T.returns_above[i + 1];
        fits += stands;
    }
    return fits;
}

/* The same of the calls that lie on a stack from `left` to `base`, whose innermost one returns to an address in a function; 0: it
 * does not. `depth`: of the instance that goes on. */
static UInt copied_there(const Frame *f, UInt depth_of_all, Addr left, Addr base, UInt function, Addr address, Addr slot, UInt *depth)
{
    UInt d = depth_of_all;
    while (d > 0 && !(f[d - 1].slot >= left && f[d - 1].slot <= base)) d--;
    if (d < 2 || f[d - 1].returns != address || f[d - 2].function != function) return 0;
    *depth = d - 2;
    return stands_there(f, depth_of_all, d - 2, slot);
}

/* The one that was copied while it waited to where control goes on, in a function at an address, where a call would have this
 * slot: on it most of what stands there was found, of equals the one that has waited longest. -1: none. `depth`: of the instance
 * that goes on. `most`: how much has to be found at least. */
static Int copied_stack(UInt function, Addr address, Addr slot, UInt most, UInt *depth)
{
    Int found = -1;
    for (UInt i = 0; i < waiting_count; i++) {
        const Waiting *w = waiting[i];
        UInt at = 0, fits = copied_there(w->frames, w->depth, w->left, w->base, function, address, slot, &at);
        if (fits < most || (found >= 0 && fits == most && waiting[found]->number < w->number)) continue;
        found = i;
        most = fits;
        *depth = at;
    }
    return found;
}

static void end_down_to(Int depth)
{
    while ((Int)T.depth > depth) end_instance();
}

/* Another stack has the memory of one that waited: its calls end. */
static void end_calls(Waiting *w)
{
    swap_stack(w);
    end_down_to(0);
    swap_stack(w);
}

/* Puts calls beside those that wait. */
static void add_waiting(Waiting *w)
{
    UInt at = waiting_below(w->left);
    /* What lies below had waited before. */
    for (UInt d = w->depth; d-- > 0 && !w->frames[d].waited;) {
        w->frames[d].waited = True;
        note_waited(w->frames[d].call);
    }
    if (at < waiting_count && waiting[at]->left == w->left) {
        end_calls(waiting[at]);
        free_waiting(waiting[at]);
    } else {
        ROOM(waiting, waiting_count, waiting_room);
        VG_(memmove)(waiting + at + 1, waiting + at, (waiting_count - at) * sizeof *waiting);
        waiting_count++;
    }
    waiting[at] = w;
}

static Waiting *take_waiting(Int at)
{
    Waiting *w = waiting[at];
    waiting_count--;
    VG_(memmove)(waiting + at, waiting + at + 1, (waiting_count - at) * sizeof *waiting);
    return w;
}

/* A stack was copied to where another one had waited. */
static void end_waiting(Int at)
{
    Waiting *w = take_waiting(at);
    end_calls(w);
    free_waiting(w);
}

/* The running thread has left a stack by a call on another one, which goes on: that stack waits. */
static void releases(void)
{
    Addr base = base_of_stack(T.away);
    UInt count = 0;
    while (count < T.depth && (!T.frames[count].slot || (T.frames[count].slot >= T.away && T.frames[count].slot <= base))) count++;
    if (count == T.depth) return;
    Waiting *outer = VG_(calloc)("addfg.waiting", 1, sizeof *outer);
    outer->left = T.away;
    outer->base = base;
    outer->frames = T.frames;
    outer->depth = count;
    outer->room = T.room;
    count_live(T.frames, count, ~0u);
    T.frames = NULL;
    T.room = 0;
    for (UInt d = count; d < T.depth; d++) {
        ROOM(T.frames, d - count, T.room);
        T.frames[d - count] = outer->frames[d];
    }
    T.depth -= count;
    T.base = T.away = 0;
    add_waiting(outer);
}

/* The same of another thread whose stack has an address, or was copied there since: where control goes on in a function at an
 * address, where a call would have this slot. `own`: how much stands there of the stack that runs. */
static void release_elsewhere(Addr pointer, UInt function, Addr address, Addr slot, UInt own);

/* Control goes on on another stack, in a function, at an address. `returned`: by a return. */
static void go_to_stack(UInt function, Bool is_entry, Addr before, Addr pointer, Addr address, Bool returned)
{
    Int found = stack_of(pointer);
    Waiting *w;
    GoesOn goes = NOWHERE;
    UInt at = 0;
    Addr base = pointer, away = 0, returns = returned ? address : 0;
    if (found >= 0) goes = goes_on_in(waiting[found]->frames, waiting[found]->depth, function, is_entry, returns, pointer, &at);
    Addr slot = returned ? pointer : pointer - sizeof(Addr);
    Int copied = goes == NOWHERE && !is_entry ? copied_stack(function, address, slot, 1, &at) : -1;
    if (copied >= 0) {
        w = waiting[copied];
        Addr by = shifted(w->frames, w->depth, w->left, w->base, at, slot);
        w->base += by;
        if (!by) copied = -1;
        else goes = goes_on_in(w->frames, w->depth, function, is_entry, returns, pointer, &at);
    }
    if (copied >= 0) found = copied;
    if (found < 0) w = VG_(calloc)("addfg.waiting", 1, sizeof *w);
    else {
        w = take_waiting(found);
        Addr highest = 0;
        for (UInt d = 0; d < w->depth; d++)
            if (w->frames[d].slot > highest) highest = w->frames[d].slot;
        /* All there is popped, and a function begins: another one has its memory now. */
        if (goes == NOWHERE && (w->base == pointer || (is_entry && highest < pointer))) {
            end_calls(w);
        } else {
            base = w->base;
            if (copied < 0 && (pointer < w->left || pointer > w->base)) away = w->left;
        }
    }
    w->left = T.away ? T.away : before;
    w->base = base_of_stack(w->left);
    w->low = T.away ? before : 0;
    w->high = T.away ? highest_elsewhere(w->left, w->base, before) : 0;
    w->number = ++waits_so_far;
    swap_stack(w);
    add_waiting(w);
    T.base = base;
    T.away = away;
    if (goes == RETURNS) end_down_to(at);
    else if (goes == IS_THERE) end_down_to(at + 1);
    else
        while (T.depth && T.frames[T.depth - 1].slot && T.frames[T.depth - 1].slot < pointer) end_instance();
}
