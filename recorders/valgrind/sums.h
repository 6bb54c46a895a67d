/* --sums-fd=N: data flow is summed while the program runs (docs/sums.md). A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* States of threads that do not run, by Valgrind's numbers, and the one that runs. */
static void **sums_thread;
static UInt sums_thread_room;
static ThreadId sums_running;

static void sums_clear_thread(void)
{
    VG_(memset)(&T, 0, sizeof T);
    T.mixed = VG_(calloc)("addfg.mixed", GRANULES, sizeof(Mixed));
    T.seen = steps_done;
}

static void sums_runs(ThreadId tid)
{
    if (!summing || tid == sums_running) return;
    settle_steps();
    if (tid >= sums_thread_room) {
        UInt room = tid + 64;
        sums_thread = VG_(realloc)("addfg.threads", sums_thread, room * sizeof *sums_thread);
        for (; sums_thread_room < room; sums_thread_room++) sums_thread[sums_thread_room] = NULL;
    }
    if (sums_running) {
        if (!sums_thread[sums_running]) sums_thread[sums_running] = VG_(malloc)("addfg.thread", sizeof T);
        VG_(memcpy)(sums_thread[sums_running], &T, sizeof T);
    }
    sums_running = tid;
    if (!sums_thread[tid]) return sums_clear_thread();
    VG_(memcpy)(&T, sums_thread[tid], sizeof T);
    T.seen = steps_done;
}

/* Another thread gets a number that one had before. */
static void sums_new_thread(ThreadId tid)
{
    if (!summing || tid >= sums_thread_room || !sums_thread[tid]) return;
    ThreadId now = sums_running;
    sums_runs(tid);
    end_all_instances();
    VG_(free)(T.mixed);
    VG_(free)(T.frames);
    VG_(free)(T.live);
    sums_clear_thread();
    sums_runs(now);
}

static void sums_mapped(Addr a, SizeT bytes, Bool executable, ULong offset, const HChar *name)
{
    if (!summing || !bytes) return;
    cells_clear(a, bytes);
    put_place(a, a + bytes, new_region(), False);
    if (!name || !name[0]) return;
    say_begin();
    say8(a);
    say8(bytes);
    say8(offset);
    say4(executable);
    say_bytes(name, VG_(strlen)(name));
    say_end(SAY_MAP);
    if (!hear()) return;
    UInt n = hear4();
    for (UInt i = 0; i < n; i++) {
        Addr first = hear8(), last = hear8();
        UInt id = hear4();
        put_place(first, last + 1, id, executable);
    }
}

static void sums_unmapped(Addr a, SizeT bytes)
{
    if (!summing || !bytes) return;
    cells_clear(a, bytes);
    cut_places(a, a + bytes, True);
    say_begin();
    say8(a);
    say8(bytes);
    say_end(SAY_UNMAP);
}

static void sums_moved(Addr from, Addr to, SizeT bytes)
{
    if (!summing) return;
    put_place(to, to + bytes, new_region(), False);
    cells_move(from, to, bytes);
    cut_places(from, from + bytes, True);
}

static void sums_fresh(Addr a, SizeT bytes) { if (summing) cells_clear(a, bytes); }

/* A handler begins, or has ended. What stood behind a call or a return is found out as ever. */
static void sums_signal(ThreadId tid, Bool begins)
{
    if (!summing) return;
    sums_runs(tid);
    if (!T.arrived && T.before) return;
    T.arrived = 0;
    T.before = begins ? &interrupted : &resumed;
    if (begins) T.interrupted_at = VG_(get_IP)(tid);
}

/* What names the kernel's accesses is told as the stream has it. */
static void sums_event(UInt kind, const UChar *payload, UInt length)
{
    switch (kind) {
    case ADDFG_THREAD:
    case ADDFG_SYSCALL:
    case ADDFG_SYSCALL_END:
    case ADDFG_DESCRIPTOR:
    case ADDFG_SIGNAL:
        if (!summing) return;
        say_begin();
        say4(kind);
        say_bytes(payload, length);
        return say_end(SAY_EVENT);
    }
}

static void sums_kernel(Bool is_write, Addr a, ULong bytes, Bool structure)
{
    if (!summing || !bytes) return;
    if (!in_reach(a, bytes)) return problem(TOO_HIGH);
    say_begin();
    say4(structure);
    say_end(SAY_SOURCE);
    if (!hear()) return;
    UInt source = hear4();
    if (source >= 255) {
        problem(TOO_MANY_FUNCTIONS);
        source = 254;
    }
    if (source >= kernel_sources) kernel_sources = source + 1;
    if (is_write) return cells_write(a, bytes, KERNEL_CELL - source);
    expose_range(a, bytes);
    read_apart(KERNEL + source, a, bytes, True);
}

static void sums_fault(void) { problem(FAULTS); }

/* A child's flow is nobody's. */
static void sums_forked(void)
{
    if (summing) VG_(close)(sums_fd);
    summing = False;
}

static void sums_shared(void) { problem(SHARED); }

static void sums_first_stack(Addr stack) { first_stack = stack; }

static void sums_begin(void)
{
    if (sums_fd < 0) return;
#if defined(VGA_amd64)
    sums_fd = VG_(safe_fd)(sums_fd);
    summing = reserve(CELLS_AT, 2 * TOP_ADDRESS + 4096) && reserve(SAVES_AT, 4 * TOP_ADDRESS + 4096);
    if (!summing) VG_(umsg)("addfg: there is no room for the sums\n");
    sums_clear_thread();
#else
    VG_(umsg)("addfg: sums are made on x86-64 only\n");
#endif
}

static void sums_end(void)
{
    if (!summing) return;
    for (ThreadId tid = 1; tid < sums_thread_room || tid == sums_running; tid++) {
        if (tid != sums_running && !sums_thread[tid]) continue;
        sums_runs(tid);
        end_all_instances();
    }
    count_all();
    say_rows();
    say_problems();
    say_begin();
    say_end(SAY_END);
}
