/* --sums-fd=N: data flow is summed while the program runs (docs/sums.md). A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* A snapshot of the sums at each marker of the program. */
static Bool at_markers = False;

/* States of threads that do not run, by Valgrind's numbers, and the one that runs. */
static void **sums_thread;
static UInt sums_thread_room;
static ThreadId sums_running;
static Bool is_alive_elsewhere(UInt call)
{
    for (ThreadId tid = 1; tid < sums_thread_room; tid++) {
        const __typeof__(T) *other = sums_thread[tid];
        if (other && tid != sums_running && is_in(other->frames, other->depth, call)) return True;
    }
    return False;
}

/* States of functions have moved. */
static void refresh_states(void)
{
    for (ThreadId tid = 1; tid < sums_thread_room; tid++) {
        __typeof__(T) *other = sums_thread[tid];
        if (other && tid != sums_running && other->depth) other->states = other->frames[other->depth - 1].actor->state;
    }
    if (T.depth) T.states = T.frames[T.depth - 1].actor->state;
}

static void free_thread(__typeof__(T) *t)
{
    VG_(free)(t->mixed);
    VG_(free)(t->frames);
    VG_(free)(t->live);
}

static void sums_clear_thread(void)
{
    VG_(memset)(&T, 0, sizeof T);
    T.mixed = VG_(calloc)("addfg.mixed", GRANULES, sizeof(Mixed));
    T.seen = steps_done;
    T.serial = sums_serials++;
    T.key = READ_KEY;
}

static void sums_runs(ThreadId tid)
{
    if (!summing || tid == sums_running) return;
    settle_steps();
    if (sums_running) share_segments();
    ROOM(sums_thread, tid, sums_thread_room);
    if (sums_running) {
        if (T.jumped != steps_done) T.jumped = 0;
        if (!sums_thread[sums_running]) sums_thread[sums_running] = VG_(malloc)("addfg.thread", sizeof T);
        VG_(memcpy)(sums_thread[sums_running], &T, sizeof T);
    }
    /* The first one has its state from the beginning. */
    Bool is_first = !sums_running;
    sums_running = tid;
    if (is_first) return;
    if (!sums_thread[tid]) return sums_clear_thread();
    VG_(memcpy)(&T, sums_thread[tid], sizeof T);
    T.seen = steps_done;
    if (T.jumped) T.jumped = steps_done;
}

static void release_elsewhere(Addr pointer, UInt function, Addr address, Addr slot, UInt own)
{
    ThreadId now = sums_running, found = 0;
    UInt at, least = own;
    if (stack_of(pointer) >= 0) return;
    Int waits = copied_stack(function, address, slot, own + 1, &at);
    if (waits >= 0) least = copied_there(waiting[waits]->frames, waiting[waits]->depth, waiting[waits]->left, waiting[waits]->base, function, address, slot, &at);
    for (ThreadId tid = 1; tid < sums_thread_room; tid++) {
        const __typeof__(T) *other = sums_thread[tid];
        if (!other || tid == now || !other->away) continue;
        Addr base = base_of(other->frames, other->depth, other->base, other->away);
        if (pointer >= other->away && pointer <= base) {
            found = tid;
            break;
        }
        UInt fits = copied_there(other->frames, other->depth, other->away, base, function, address, slot, &at);
        if (fits <= least) continue;
        least = fits;
        found = tid;
    }
    if (!found) return;
    sums_runs(found);
    releases();
    sums_runs(now);
}

static ThreadId sums_runs_serial(UInt serial)
{
    ThreadId now = sums_running;
    for (ThreadId tid = 1; tid < sums_thread_room && T.serial != serial; tid++) {
        const __typeof__(T) *other = sums_thread[tid];
        if (other && tid != now && other->serial == serial) sums_runs(tid);
    }
    return now;
}

/* Threads in the order in which they began to run: the stream's numbers, and their steps when they had ended. */
typedef struct {
    UInt number;
    ULong steps;
} Worker;

static Worker *workers;
static UInt worker_room;

static void note_worker(ThreadId tid)
{
    ROOM(workers, T.serial, worker_room);
    workers[T.serial].number = thread(tid);
    workers[T.serial].steps = T.steps;
}

/* Another thread gets a number that one had before. */
static void sums_new_thread(ThreadId tid)
{
    if (!summing || tid >= sums_thread_room || !sums_thread[tid]) return;
    ThreadId now = sums_running;
    sums_runs(tid);
    end_all_instances();
    forget_signals();
    note_worker(tid);
    free_thread(&T);
    sums_clear_thread();
    sums_runs(now);
}

/* Says that something is mapped. Gives whether it is a file; how many places of it follow in what was heard. */
static Bool said_map(Addr a, SizeT bytes, Bool executable, ULong offset, const HChar *name, UInt *places)
{
    say_begin();
    say8(a);
    say8(bytes);
    say8(offset);
    say4(executable);
    say_bytes(name, VG_(strlen)(name));
    say_end(SAY_MAP);
    if (!hear()) return False;
    Bool file = hear4();
    *places = hear4();
    return file;
}

/* A forked process tells where its parent's memory lies, who has written it. */
static Bool inheriting = False;

/* Where a range is known, as far as it is known in one piece. */
static Addr known_range(Addr a, SizeT *bytes)
{
    a = folded(a);
    if (*bytes <= TOP_ADDRESS - a) return a;
    problem(TOO_HIGH);
    *bytes = TOP_ADDRESS - a;
    return a;
}

/* Something that is known at the same addresses must not lie at others. */
static void look_for_others(Addr a)
{
    static Bool any_high;
    any_high |= a >= TOP_ADDRESS;
    for (Addr other = folded(a); any_high && other < 1ULL << 47; other += TOP_ADDRESS) {
        const NSegment *s = other == a || in_areas(other) ? NULL : VG_(am_find_nsegment)(other);
        if (s && (s->kind == SkFileC || s->kind == SkAnonC || s->kind == SkShmC)) problem(TOO_HIGH);
    }
}

/* As the pass does it (`Memory::map` in src/analysis/memory.rs). `above`: what the program's addresses are more. */
static void map_memory(Addr a, Addr above, SizeT bytes, Bool executable, ULong offset, const HChar *name)
{
    if (!inheriting) cells_clear(a, bytes);
    UInt n = 0;
    Bool file = name && name[0] && said_map(a + above, bytes, executable, offset, name, &n);
    new_memory(a, a + bytes, file ? OF_FILE : OF_MEMORY);
    for (UInt i = 0; i < n; i++) {
        Addr first = hear8() - above, end = hear8() + 1 - above;
        UInt id = hear4();
        cut_places(first, end, OF_IMAGE);
        fill_places(first, end, id, executable ? OF_IMAGE : OF_FILE);
    }
}

static void sums_mapped(Addr at, SizeT bytes, Bool executable, ULong offset, const HChar *name)
{
    if (!summing || !bytes) return;
    look_for_others(at);
    Addr a = known_range(at, &bytes);
    unshare(a, a + bytes);
    note_mapped_name(a, name);
    map_memory(a, at - a, bytes, executable, offset, name);
}

static void sums_unmapped(Addr at, SizeT bytes)
{
    if (!summing || !bytes) return;
    Addr a = known_range(at, &bytes);
    unshare(a, a + bytes);
    cells_clear(a, bytes);
    cut_places(a, a + bytes, OF_IMAGE);
    say_begin();
    say8(at);
    say8(bytes);
    say_end(SAY_UNMAP);
}

static void sums_moved(Addr from, Addr to, SizeT bytes)
{
    if (!summing) return;
    look_for_others(to);
    from = known_range(from, &bytes);
    to = known_range(to, &bytes);
    unshare(from, from + bytes);
    unshare(to, to + bytes);
    new_memory(to, to + bytes, OF_MEMORY);
    cells_move(from, to, bytes);
    cut_places(from, from + bytes, OF_IMAGE);
}

static void sums_fresh(Addr a, SizeT bytes)
{
    if (!summing) return;
    a = known_range(a, &bytes);
    for (Addr end = a + bytes, next; a < end; a = next) {
        next = end_of_piece(a, end);
        cells_clear(home_of(a), next - a);
    }
}

/* A handler begins, or has ended. What stood behind a call or a return is found out as ever. */
static void sums_signal(ThreadId tid, Bool begins)
{
    if (!summing) return;
    sums_runs(tid);
    if (begins) signal_begins();
    else signal_ends();
    if (!T.arrived && T.before) return;
    T.arrived = 0;
    /* An indirect jump may go anywhere: the handler is where it went. */
    if (begins && T.jumped && T.jumped == steps_done) return;
    T.before = begins ? &interrupted : &resumed;
    if (begins) T.interrupted_at = VG_(get_IP)(tid);
}

static void say_event(UInt kind, const UChar *payload, UInt length)
{
    say_begin();
    say4(kind);
    say8(steps_done - steps_before);
    say_bytes(payload, length);
    say_end(SAY_EVENT);
}

/* The process has shared memory, of which is told where it lies, and what was mapped last. */
static Bool tells_shared = False;
static UChar *last_map;
static UInt last_map_length, last_map_room;

/* What lies where is told from the first shared memory on. */
static void say_memory(UInt kind, const UChar *payload, UInt length)
{
    if (kind == ADDFG_SHARE && !tells_shared) {
        tells_shared = True;
        if (last_map_length) say_event(ADDFG_MAP, last_map, last_map_length);
    }
    if (tells_shared) return say_event(kind, payload, length);
    if (kind != ADDFG_MAP) return;
    ROOM(last_map, length, last_map_room);
    VG_(memcpy)(last_map, payload, length);
    last_map_length = length;
}

/* What accesses of system calls were named by of late: those of a kind, or those of a kind with this descriptor in that
 * argument, as long as descriptors are open on what they are. */
typedef struct {
    UInt number, argument, descriptor, source;
    Bool structure;
} NamedAccess;

#define NAMED 32
static NamedAccess named_accesses[NAMED];
static UInt named_count, named_next;
/* The thread that runs is in this system call, if that is known. */
static Bool in_named_call = False;
static UInt named_call;
static UWord named_call_argument[8];

/* Answers about an access: its name stays for no other one; it is the same for all of such a call. */
enum { FOR_ONE = 255, FOR_ALL = 254 };

static void forget_named(void) { in_named_call = named_count = named_next = 0; }

static void sums_called(UInt number, const UWord *arguments, UInt n)
{
    if (!summing) return;
    named_call = number;
    in_named_call = True;
    for (UInt i = 0; i < 8; i++) named_call_argument[i] = i < n ? arguments[i] : 0;
}

static Bool is_named(const NamedAccess *of, Bool structure)
{
    return of->number == named_call && of->structure == structure
           && (of->argument == FOR_ALL || of->descriptor == (UInt)named_call_argument[of->argument]);
}

/* The number of what an access of the kernel is named by; no number of a source: nobody answers. */
static UInt kernel_source(Bool structure)
{
    for (UInt i = 0; in_named_call && i < named_count; i++)
        if (is_named(named_accesses + i, structure)) return named_accesses[i].source;
    say_begin();
    say4(structure);
    say_end(SAY_SOURCE);
    if (!hear()) return ~0u;
    UInt source = hear4(), argument = hear4();
    if (!in_named_call || (argument >= 8 && argument != FOR_ALL)) return source;
    named_accesses[named_next] = (NamedAccess){
        .number = named_call, .argument = argument, .source = source, .structure = structure,
        .descriptor = argument < 8 ? named_call_argument[argument] : 0,
    };
    named_next = (named_next + 1) % NAMED;
    if (named_count < NAMED) named_count++;
    return source;
}

/* What names the kernel's accesses is told as the stream has it, and what is shared with others. */
static void sums_event(UInt kind, const UChar *payload, UInt length)
{
    if (!summing) return;
    switch (kind) {
    case ADDFG_MAP:
    case ADDFG_UNMAP:
    case ADDFG_MOVE:
    case ADDFG_SHARE:
    case ADDFG_FILE_WRITE:
        return say_memory(kind, payload, length);
    case ADDFG_DESCRIPTOR:
    case ADDFG_SIGNAL:
    case ADDFG_PROCESS:
        forget_named();
        return say_event(kind, payload, length);
    case ADDFG_THREAD:
    case ADDFG_SYSCALL:
    case ADDFG_SYSCALL_END:
        in_named_call = False;
        return say_event(kind, payload, length);
    case ADDFG_KERNEL_READ:
    case ADDFG_KERNEL_WRITE:
    case ADDFG_EXEC:
        return say_event(kind, payload, length);
    }
}

static void kernel_access(Bool is_write, Addr a, ULong bytes, Bool structure)
{
    UInt source = kernel_source(structure);
    if (!summing) return;
    if (source >= KERNEL_NAMES) {
        problem(TOO_MANY_NAMES);
        source = KERNEL_NAMES - 1;
    }
    if (source >= kernel_sources) kernel_sources = source + 1;
    if (!is_write) {
        expose_range(a, bytes);
        return read_apart(KERNEL + source, a, bytes, True);
    }
    for (Addr end = a + bytes, next; a < end; a = next) {
        next = end_of_piece(a, end);
        cells_write(home_of(a), next - a, KERNEL_CELL - source);
    }
}

static void sums_kernel(Bool is_write, Addr a, ULong bytes, Bool structure)
{
    SizeT known = bytes;
    if (!summing || !bytes) return;
    a = known_range(a, &known);
    kernel_access(is_write, a, known, structure);
}

static void sums_fault(void) { problem(FAULTS); }

/* Nothing is known of what was met. */
static void forget_met(void);

static void sums_first_stack(Addr stack)
{
    places_change();
    first_stack = folded(stack);
}

static void sums_begin(void)
{
    if (sums_fd < 0 && !sums_at) return;
#if defined(VGA_amd64)
    if (sums_at) {
        if (!begin_process(0)) return;
    } else {
        sums_fd = VG_(safe_fd)(sums_fd);
        share_counts();
    }
    /* An access may begin at the last address. */
    const Addr all = TOP_ADDRESS + 65536;
    summing = reserve_behind(CELLS_AT, 2 * all) && reserve_behind(SAVES_AT, 4 * all) && reserve(READERS_AT, all) && reserve(PAIRS_AT, all / 2)
        && reserve_area(FLOWS_AT) && reserve_area(STATES_AT) && reserve_area(TABLES_AT);
    if (summing) keep_areas();
    else VG_(umsg)("addfg: there is no room for the sums\n");
    sums_clear_thread();
#else
    VG_(umsg)("addfg: sums are made on x86-64 only\n");
#endif
}

/* Of each thread that has run, as if it ran now. */
static void each_thread(void (*what)(ThreadId tid))
{
    for (ThreadId tid = 1; tid < sums_thread_room || tid == sums_running; tid++) {
        if (tid != sums_running && !sums_thread[tid]) continue;
        sums_runs(tid);
        what(tid);
    }
}

static void add_live(ThreadId tid)
{
    settle_steps();
    note_worker(tid);
    count_live_instances(1);
}

static void take_live(ThreadId tid) { count_live_instances(~0ULL); }

static void end_live(ThreadId tid)
{
    end_all_instances();
    note_worker(tid);
}

static void count_live_there(void) { count_live_instances(1); }
static void take_live_there(void) { count_live_instances(~0ULL); }

/* All instances end. */
static void end_all_threads(void)
{
    each_thread(end_live);
    each_waiting(&end_all_instances);
}

static void say_all_rows(void)
{
    share_segments();
    count_all();
    say_rows();
    say_begin();
    say4(6);
    for (UInt i = 0; i < sums_serials && i < worker_room; i++) {
        if (!workers[i].steps) continue;
        say4(workers[i].number);
        say8(workers[i].steps);
    }
    say_end(SAY_ROWS);
    say_begin();
    say4(7);
    say8(steps_done - steps_before);
    say8(calls_made - calls_before);
    say8(first_stack);
    say8(contexts_left_out);
    say_end(SAY_ROWS);
    say_problems();
}

/* Why addfg gets the sums as they are, while the program goes on. */
enum { WAS_ASKED, AT_MARKER, BEFORE_EXEC };

static void sums_snapshot(UInt why)
{
    ThreadId now = sums_running;
    if (!summing || !now) return;
    each_thread(add_live);
    each_waiting(&count_live_there);
    say_all_rows();
    each_thread(take_live);
    each_waiting(&take_live_there);
    sums_runs(now);
    say_begin();
    say4(why);
    say_end(SAY_SNAPSHOT);
}

static void sums_asked(void)
{
    while (summing && was_asked()) sums_snapshot(WAS_ASKED);
}

/* Nothing follows, if the process becomes another program: what does tells addfg that it did not. */
static void sums_exec(void)
{
    sums_snapshot(BEFORE_EXEC);
    at_once = True;
}

/* Rows of the process that this one comes from are not its own. Their numbers stay. */
static void forget_rows(void)
{
    share_segments();
    count_all();
    forget_met();
    for (UInt i = 0; i < state_count; i++) states[i]->threads = 0;
    forget_shared();
    for (UInt i = 1; i < flow_count; i++) {
        Flow *f = flow_at(i);
        f->bytes = f->transfers = f->unique = f->addresses = 0;
    }
    for (UInt i = 1; i < function_room; i++) functions[i].calls = functions[i].steps_self = functions[i].steps_total = functions[i].written = 0;
    forget_counts(&call_edges);
    forget_counts(&contexts);
    forget_counts(&merged_calls);
    for (UInt i = 0; i < segment_count; i++) segments[i]->count = 0;
    for (UInt i = 1; i < actor_count; i++) actors[i]->calls = actors[i]->steps = 0;
    for (UInt i = 0; i < PROBLEMS; i++) problem_count[i] = 0;
    contexts_left_out = 0;
    for (UInt i = 0; i < worker_room; i++) workers[i].steps = 0;
    sums_serials = asked_for = 0;
    steps_before = steps_done;
    calls_before = calls_made;
}

/* What was not sent yet is the parent's. */
static void sums_before_fork(void) { say_all(); }

/* The live instances of the thread that has forked go on as others (`src/analysis/forks.rs`). */
static void go_on_forked(void)
{
    T.serial = sums_serials++;
    T.steps = 0;
    for (UInt g = 0; g < GRANULES; g++) T.reader[g] &= READ_SAVED;
    for (UInt i = 0; i < T.live_room; i++) T.live[i] = 0;
    for (UInt d = 0; d < T.depth; d++) {
        Frame *f = T.frames + d;
        const Frame *above = d ? f - 1 : NULL;
        Bool stub = functions[f->function].stub;
        alive[f->call % ALIVE]--;
        if (f->waited) forget_waited(f->call);
        f->waited = False;
        f->call = ++calls_made;
        alive[f->call % ALIVE]++;
        f->kind = stub ? KIND_STUB : KIND_FORK;
        f->steps_self = f->steps_below = 0;
        f->outermost = (*live_of(f->function))++ == 0;
        f->context = enter_context(above ? above->context : 0, f->function, stub);
        f->actor = begin_actor(f->context, f->function, above && stub ? above->actor : NULL);
        inherit_saves(f->saves, f->call);
    }
    set_top();
}

/* A child has the memory of its parent, and what the thread had that forked. Without a place to connect to its flow is
 * nobody's. */
static Bool sums_forked(void)
{
    if (!summing) return False;
    VG_(close)(sums_fd);
    forget_named();
    summing = sums_at && begin_process(segment_count);
    own_shared_files(summing);
    if (!summing) return False;
    ThreadId now = sums_running;
    for (ThreadId tid = 1; tid < sums_thread_room; tid++) {
        if (tid == now || !sums_thread[tid]) continue;
        sums_runs(tid);
        end_all_instances();
    }
    sums_runs(now);
    settle_steps();
    each_waiting(&end_all_instances);
    while (waiting_count) free_waiting(waiting[--waiting_count]);
    while (signal_count) forget_signal(signal_count - 1);
    forget_rows();
    for (ThreadId tid = 1; tid < sums_thread_room; tid++) {
        __typeof__(T) *other = sums_thread[tid];
        if (other && tid != now) free_thread(other);
        VG_(free)(other);
        sums_thread[tid] = NULL;
    }
    go_on_forked();
    forget_places();
    return True;
}

static void sums_inherit(Bool begins) { inheriting = begins; }

static void sums_marked(ThreadId tid)
{
    if (!summing || !at_markers) return;
    sums_runs(tid);
    sums_snapshot(AT_MARKER);
}

static void sums_end(void)
{
    if (!summing) return;
    end_all_threads();
    say_all_rows();
    say_begin();
    say_end(SAY_END);
}
