/* The buffer of runs and events, and what becomes an event: threads, signals, memory, system calls,
 * processes. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* ---- blocks as they were translated ---- */

typedef struct {
    UInt number; /* of the stream's block */
    UInt whole;  /* the path to its end */
    UInt instructions, fields;
    ULong *address;
    UInt *accesses_before, *fields_before;
} Block;

static Block *blocks;
static UInt block_count, block_room;

/* ---- the stream ---- */

/* Nobody reads any more: the program goes on, and gets no signal that is not its own. Signals wait while the core runs. */
static void take_broken_pipe(void)
{
    vki_sigset_t set;
    vki_siginfo_t info;
    VG_(sigemptyset)(&set);
    VG_(sigaddset)(&set, VKI_SIGPIPE);
    VG_(sigtimedwait_zero)(&set, &info);
}

static int write_all(void *context, const void *bytes, addfg_u32 length)
{
    const UChar *p = bytes;
    while (length) {
        Int n = VG_(write)(stream_fd, p, (Int)length);
        if (n == -VKI_EPIPE) take_broken_pipe();
        if (n <= 0) return 1;
        p += n;
        length -= n;
    }
    return 0;
}

/* The definitions of all pieces, for forked processes. */
static addfg_bytes known;

static void flush_buffer(void)
{
    if (recording && each_name && stream.definitions.length) {
        VG_(memcpy)(addfg__room(&known, stream.definitions.length), stream.definitions.bytes, stream.definitions.length);
        known.length += stream.definitions.length;
    }
    if (recording) addfg_flush(&stream, buffer, (const UChar *)(Addr)cursor);
    if (recording && stream.failed) {
        VG_(umsg)("addfg: %s cannot be written any more: the recording ends here\n", stream_name);
        recording = False;
    }
    cursor = (ULong)(Addr)buffer;
    /* What the block that began last wrote is gone. */
    begun = 0;
}

static VG_REGPARM(0) void buffer_full(void) { flush_buffer(); }

/* ---- events ---- */

static UChar *event_bytes(UInt kind, UInt most)
{
    if (cursor + most + 8 > (ULong)(Addr)buffer + BUFFER + SLACK) flush_buffer();
    UInt word = ADDFG_EVENT | kind;
    VG_(memcpy)((UChar *)(Addr)cursor, &word, 4);
    return (UChar *)(Addr)cursor + 8;
}

static void event_end(UChar *end)
{
    UInt length = end - (UChar *)(Addr)cursor - 8;
    VG_(memcpy)((UChar *)(Addr)cursor + 4, &length, 4);
    cursor = (ULong)(Addr)end;
    /* The block that began last is over: behind it there is something else now. */
    begun = 0;
}

/* The part of the run that is recorded (part.h). */
static Bool in_part = True;

/* Without it what is in the part would not be understood. */
static Bool always(UInt kind)
{
    switch (kind) {
    case ADDFG_PROCESS:
    case ADDFG_THREAD_START:
    case ADDFG_THREAD_END:
    case ADDFG_MAP:
    case ADDFG_UNMAP:
    case ADDFG_MOVE:
    case ADDFG_PROTECT:
    case ADDFG_SHARE:
    case ADDFG_DESCRIPTOR:
    case ADDFG_EXEC:
    case ADDFG_FORK:
    case ADDFG_INHERIT:
        return True;
    default:
        return False;
    }
}

static void event(UInt kind, UInt n, const ULong *numbers, const HChar *text)
{
    if (!recording || !(in_part || always(kind))) return;
    SizeT size = text ? VG_(strlen)(text) : 0;
    if (size > 4096) size = 4096;
    UChar *o = event_bytes(kind, n * 10 + size + 10);
    for (UInt i = 0; i < n; i++) o = addfg__varint(o, numbers[i]);
    if (text) {
        o = addfg__varint(o, size);
        VG_(memcpy)(o, text, size);
        o += size;
    }
    sums_event(kind, (const UChar *)(Addr)cursor + 8, o - (UChar *)(Addr)cursor - 8);
    event_end(o);
}

#define EVENT(kind, ...) do { const ULong numbers_[] = { __VA_ARGS__ }; \
    event(kind, sizeof numbers_ / sizeof *numbers_, numbers_, NULL); } while (0)
#define EVENT_TEXT(kind, text, ...) do { const ULong numbers_[] = { __VA_ARGS__ }; \
    event(kind, sizeof numbers_ / sizeof *numbers_, numbers_, text); } while (0)

/* Allocation functions that threads are in (allocations.h). */
static void asks(ThreadId tid);
static void asks_nothing(ThreadId tid);
static void forget_asked(void);
static void handler_begins(ThreadId tid);
static void handler_ends(ThreadId tid);
/* The system call that a thread is in (calls.h). */
static void call_over(ThreadId tid);
static Bool in_exit(ThreadId tid);
static Bool in_call(ThreadId tid);
/* Files in memory (files.h). */
static void tell_all_shared(void);
static void memory_wiped(void);
/* Memory that is there (calls.h). */
static Bool readable(Addr a, SizeT size);
/* Descriptors (calls.h). */
static void name_descriptor(ULong fd);
static void forget_told(void);
/* Descriptors that a process begins with are looked for up to here. */
#define DESCRIPTORS 128

/* ---- threads: Valgrind's numbers are used again, the stream's are not ---- */

static struct {
    UInt number;
    /* Where the kernel stores 0 when the thread ends, and its list of locks; nobody announces what it writes then.
     * 0: nowhere. */
    Addr cleared, robust;
} *thread_of;
/* Of the thread that the open system call makes. */
static Addr clears;
static UInt thread_room;
static UInt threads = 0;
static UInt current = 0;
/* How often another thread went on. */
static ULong turns;
static UInt last_thread;

static UInt thread(ThreadId tid)
{
    ROOM(thread_of, tid, thread_room);
    if (!thread_of[tid].number) thread_of[tid].number = ++threads;
    return thread_of[tid].number;
}

/* What follows is of this thread: it runs, or something is told of it. */
static void speak(ThreadId tid)
{
    UInt now = thread(tid);
    if (now != last_thread) turns++;
    last_thread = now;
    if (now == current || !recording || !in_part) return;
    current = now;
    asks(tid);
    EVENT(ADDFG_THREAD, now);
}

/* Milliseconds after which what waits is written: so much is lost at most of a program that is killed. */
#define WRITE_EVERY 1000
static UInt written_at_time;

static void await_kernel(void);

static void start_client_code(ThreadId tid, ULong dispatched)
{
    await_kernel();
    UInt time = VG_(read_millisecond_timer)();
    if (time - written_at_time > WRITE_EVERY) {
        written_at_time = time;
        flush_buffer();
    }
    speak(tid);
    sums_runs(tid);
    sums_asked();
    if (!first_block || !recording || !in_part) return;
    first_block = False;
    sums_first_stack(VG_(get_SP)(tid));
    EVENT(ADDFG_STACK, VG_(get_SP)(tid));
}

static void pre_thread_create(ThreadId parent, ThreadId child)
{
    /* What the thread did that had this number before is that one's. */
    sums_new_thread(child);
    if (child < thread_room) thread_of[child].number = 0;
    EVENT(ADDFG_THREAD_START, thread(child), parent ? thread(parent) : 0);
    thread_of[child].cleared = clears;
    thread_of[child].robust = 0;
    clears = 0;
    asks_nothing(child);
}

/* ---- what the kernel writes when a thread has ended ---- */

/* Words that it is going to change, and what they are until then: the thread that ends can only tell before. What runs
 * next waits for it, as it would else read words of before behind what is told. */
static struct { Addr at; UInt was; } *owed;
static UInt owed_count, owed_room;
/* Milliseconds that are waited at most. */
#define KERNEL_TAKES 1000

static void await_kernel(void)
{
    if (!owed_count) return;
    UInt begin = VG_(read_millisecond_timer)();
    for (UInt i = 0; i < owed_count; i++) {
        const volatile UInt *at = (const volatile UInt *)owed[i].at;
        while (readable(owed[i].at, 4) && *at == owed[i].was && VG_(read_millisecond_timer)() - begin < KERNEL_TAKES)
            VG_(poll)(NULL, 0, 1);
        check_delivered(owed[i].at, readable(owed[i].at, 4) ? 4 : 0);
    }
    owed_count = 0;
}

static void kernel_changes(Addr at)
{
    EVENT(ADDFG_KERNEL_WRITE, at, 4);
    sums_kernel(True, at, 4, False);
    /* The same again. */
    if (!*(const UInt *)at) return;
    ROOM(owed, owed_count, owed_room);
    owed[owed_count].at = at;
    owed[owed_count++].was = *(const UInt *)at;
}

/* A lock that the thread holds: its word says from now on that the owner died. */
static void leave_lock(const struct vki_robust_list_head *head, Addr entry)
{
    Addr word = (entry & ~(Addr)1) + head->futex_offset;
    UInt owner = 0x3fffffff; /* FUTEX_TID_MASK */
    if (!entry || word % 4 || !VG_(am_is_valid_for_client)(word, 4, VKI_PROT_READ | VKI_PROT_WRITE)) return;
    if ((*(const UInt *)word & owner) == (UInt)VG_(gettid)()) kernel_changes(word);
}

/* As the kernel goes through them (kernel/futex, exit_robust_list): so many at most. */
#define ROBUST_LIST_LIMIT 2048

static void leave_locks(Addr robust)
{
    const struct vki_robust_list_head *head = (const struct vki_robust_list_head *)robust;
    if (!robust || !readable(robust, sizeof *head)) return;
    Addr pending = (Addr)head->list_op_pending, entry = (Addr)head->list.next;
    for (UInt i = 0; i < ROBUST_LIST_LIMIT && (entry & ~(Addr)1) != robust; i++) {
        if (entry != pending) leave_lock(head, entry);
        if (!readable(entry & ~(Addr)1, sizeof(Addr))) return;
        entry = (Addr)((const struct vki_robust_list *)(entry & ~(Addr)1))->next;
    }
    leave_lock(head, pending);
}

static void pre_thread_exit(ThreadId tid)
{
    UInt number = thread(tid);
    speak(tid);
    leave_locks(thread_of[tid].robust);
    Addr cleared = thread_of[tid].cleared;
    /* What ended all has returned: the memory goes with the last thread. */
    if (cleared && in_call(tid) && VG_(am_is_valid_for_client)(cleared, 4, VKI_PROT_READ | VKI_PROT_WRITE)) kernel_changes(cleared);
    /* What it was in when another thread ended all has no end. */
    if (in_exit(tid)) EVENT(ADDFG_SYSCALL_END, 0, 0);
    call_over(tid);
    EVENT(ADDFG_THREAD_END, number);
}

/* ---- a block that a signal left in the middle ---- */

static void partial(ThreadId tid)
{
    if (!recording || !begun || begun_block >= block_count) return;
    Block *b = blocks + begun_block;
    UChar *at = (UChar *)(Addr)begun;
    UInt from = 1, fields = cursor == begun ? 0 : (cursor - begun - 4) / 8;
    if (cursor != begun) {
        /* It ran to its end, or is behind an exit that it did not take. */
        UInt path = addfg__get32(at);
        if (path == b->whole && fields == b->fields) return;
        from = stream.path[path].steps;
    }
    begun = 0;
    Addr ip = VG_(get_IP)(tid);
    for (UInt i = from; i < b->instructions; i++) {
        if (b->address[i] != ip) continue;
        UInt path = addfg_path(&stream, b->number, i, b->accesses_before[i], b->fields_before[i]);
        VG_(memcpy)(at, &path, 4);
        cursor = (ULong)(Addr)at + 4 + 8ULL * b->fields_before[i];
        return;
    }
}

static void pre_deliver_signal(ThreadId tid, Int signal, Bool alt_stack)
{
    partial(tid);
    speak(tid);
    if (signal == VKI_SIGSEGV || signal == VKI_SIGBUS || signal == VKI_SIGFPE || signal == VKI_SIGILL || signal == VKI_SIGTRAP) sums_fault();
    sums_signal(tid, True);
    /* What it was in is begun again behind the handler, or has ended. */
    call_over(tid);
    handler_begins(tid);
    EVENT(ADDFG_SIGNAL, signal);
}

static void post_deliver_signal(ThreadId tid, Int signal)
{
    speak(tid);
    sums_signal(tid, False);
    handler_ends(tid);
    EVENT(ADDFG_SIGNAL_END, signal);
}

/* ---- memory ---- */

static void mapped(Addr a, SizeT length, Bool r, Bool w, Bool x)
{
    const NSegment *s = VG_(am_find_nsegment)(a);
    const HChar *name = s ? VG_(am_get_filename)(s) : NULL;
    /* The page of this tool that programs run through is none of theirs. */
    const NSegment *own = VG_(am_find_nsegment)((Addr)&mapped);
    const HChar *tool = own ? VG_(am_get_filename)(own) : NULL;
    if (name && tool && VG_(strcmp)(name, tool) == 0) return;
    ULong offset = s && name ? s->offset + (a - s->start) : 0;
    EVENT_TEXT(ADDFG_MAP, name ? name : "", a, length, (r ? 4 : 0) | (w ? 2 : 0) | (x ? 1 : 0), offset);
    sums_mapped(a, length, x, offset, name);
}

static void new_mem(Addr a, SizeT length, Bool r, Bool w, Bool x, ULong handle)
{
    if (in_areas(a)) return;
    mapped(a, length, r, w, x);
    check_mapped(a, length);
}

static void new_brk(Addr a, SizeT length, ThreadId tid) { new_mem(a, length, True, True, False, 0); }

/* A process that goes on with its parent's memory. */
static void all_mapped(void)
{
    Int n = 1024;
    Addr *starts = VG_(malloc)("addfg.maps", n * sizeof *starts);
    while ((n = VG_(am_get_segment_starts)(SkFileC | SkAnonC | SkShmC, starts, n)) < 0)
        starts = VG_(realloc)("addfg.maps", starts, (n = -n) * sizeof *starts);
    for (Int i = 0; i < n; i++) {
        const NSegment *s = VG_(am_find_nsegment)(starts[i]);
        if (s && !in_areas(s->start)) mapped(s->start, s->end + 1 - s->start, s->hasR, s->hasW, s->hasX);
    }
    VG_(free)(starts);
}

static void changed_mem(Addr a, SizeT length, Bool r, Bool w, Bool x)
{
    EVENT(ADDFG_PROTECT, a, length, (r ? 4 : 0) | (w ? 2 : 0) | (x ? 1 : 0));
}

static void copied_mem(Addr from, Addr to, SizeT length)
{
    EVENT(ADDFG_MOVE, from, to, length);
    sums_moved(from, to, length);
    check_moved(from, to, length);
}

static void gone_mem(Addr a, SizeT length)
{
    EVENT(ADDFG_UNMAP, a, length);
    sums_unmapped(a, length);
    check_mapped(a, length);
}

/* ---- processes ---- */

static void new_process(void)
{
    EVENT_TEXT(ADDFG_PROCESS, VG_(args_the_exename) ? VG_(args_the_exename) : "", VG_(getpid)());
    for (ULong fd = 0; fd < DESCRIPTORS; fd++)
        name_descriptor(fd);
    flush_buffer();
}

/* A file that no other process of the tree has: the first gets number 1. */
static Int open_own(void)
{
    HChar name[4096];
    Int fd = -1;
    for (UInt n = 1; fd < 0 && n < 100000; n++) {
        VG_(snprintf)(name, sizeof name, "%s.%u", each_name, n);
        fd = VG_(fd_open)(name, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_EXCL, 0644);
        if (fd < 0 || n > 1 || given_fd < 0) continue;
        /* The first stream of all goes to who began the recording. */
        VG_(close)(fd);
        fd = given_fd;
    }
    return fd;
}

/* What has no reader. */
static Int open_none(void) { return VG_(fd_open)("/dev/null", VKI_O_WRONLY, 0); }

/* A thread is making a process: what its call gives is the number of that one. */
static Bool forking = False;

static void before_fork(ThreadId tid)
{
    flush_buffer();
    sums_before_fork();
    forking = True;
}

/* The memory that the process has now is that of the new one, too. */
static void forked_off(SysRes result)
{
    if (forking && each_name && !sr_isError(result) && sr_Res(result)) EVENT(ADDFG_FORK, sr_Res(result));
    forking = False;
}

/* A child does not write into its parent's stream. */
static void forked(ThreadId tid)
{
    cursor = (ULong)(Addr)buffer;
    begun = 0;
    VG_(close)(stream_fd);
    Bool sums = sums_forked();
    Int fd = !recording ? -1 : each_name ? open_own() : sums ? open_none() : -1;
    recording = fd >= 0;
    if (!recording) return;
    stream_fd = VG_(safe_fd)(fd);
    for (UInt i = 0; i < thread_room; i++) thread_of[i].number = thread_of[i].cleared = thread_of[i].robust = 0;
    if (tid < thread_room) thread_of[tid].cleared = clears;
    owed_count = clears = 0;
    threads = current = 0;
    forking = False;
    forget_asked();
    forget_told();
    first_block = True;
    addfg_fork(&stream, &known);
    new_process();
    sums_inherit(True);
    all_mapped();
    tell_all_shared();
    sums_inherit(False);
    EVENT(ADDFG_INHERIT, VG_(getppid)());
    memory_wiped();
}
