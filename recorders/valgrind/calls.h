/* System calls: what each moved, as its arguments and its result say. A part of addfg_main.c.
 *
 * The core tells what a call is asked to read, before it is done; that is more than what it reads where
 * it fails, is cut short, or is told of its buffers by structures. So for the calls that move bytes it is
 * found here, from their buffers as they were when the call began; for all others the core is believed.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* How a call says where its data is. */
typedef enum {
    AS_TOLD,    /* the core knows */
    NO_DATA,    /* in memory */
    ONE_BUFFER, /* address, bytes */
    VECTOR,     /* structures iovec, their count */
    MESSAGE,    /* structure msghdr */
    MESSAGES,   /* structures mmsghdr, their count */
} Layout;

typedef struct {
    UInt number;
    Layout layout;
    /* The kernel writes to memory: what a program reads. */
    Bool gives;
    /* Numbers of the arguments: where the data is (how much follows), and the descriptors. */
    UChar at;
    Char descriptor, other;
    /* Of the position in the file, if it has one; in the last descriptor's for calls without data. */
    Char position;
} Shape;

#define NO (-1)

static const Shape shapes[] = {
    { __NR_read, ONE_BUFFER, True, 1, 0, NO, NO },
    { __NR_pread64, ONE_BUFFER, True, 1, 0, NO, 3 },
    { __NR_readv, VECTOR, True, 1, 0, NO, NO },
    { __NR_preadv, VECTOR, True, 1, 0, NO, 3 },
#ifdef __NR_preadv2
    { __NR_preadv2, VECTOR, True, 1, 0, NO, 3 },
    { __NR_pwritev2, VECTOR, False, 1, 0, NO, 3 },
#endif
    { __NR_recvfrom, ONE_BUFFER, True, 1, 0, NO, NO },
#ifdef __NR_recv
    { __NR_recv, ONE_BUFFER, True, 1, 0, NO, NO },
    { __NR_send, ONE_BUFFER, False, 1, 0, NO, NO },
#endif
    { __NR_recvmsg, MESSAGE, True, 1, 0, NO, NO },
    { __NR_recvmmsg, MESSAGES, True, 1, 0, NO, NO },
#ifdef __NR_getdents
    { __NR_getdents, ONE_BUFFER, True, 1, 0, NO, NO },
#endif
    { __NR_getdents64, ONE_BUFFER, True, 1, 0, NO, NO },
#ifdef __NR_getrandom
    { __NR_getrandom, ONE_BUFFER, True, 0, NO, NO, NO },
#endif
#ifdef __NR_process_vm_readv
    { __NR_process_vm_readv, VECTOR, True, 1, NO, NO, NO },
    { __NR_process_vm_writev, VECTOR, False, 1, NO, NO, NO },
#endif
#ifdef __NR_mq_timedreceive
    { __NR_mq_timedreceive, ONE_BUFFER, True, 1, 0, NO, NO },
#endif
    { __NR_write, ONE_BUFFER, False, 1, 0, NO, NO },
    { __NR_pwrite64, ONE_BUFFER, False, 1, 0, NO, 3 },
    { __NR_writev, VECTOR, False, 1, 0, NO, NO },
    { __NR_pwritev, VECTOR, False, 1, 0, NO, 3 },
    { __NR_vmsplice, VECTOR, False, 1, 0, NO, NO },
    { __NR_sendto, ONE_BUFFER, False, 1, 0, NO, NO },
    { __NR_sendmsg, MESSAGE, False, 1, 0, NO, NO },
#ifdef __NR_sendmmsg
    { __NR_sendmmsg, MESSAGES, False, 1, 0, NO, NO },
#endif
    { __NR_sendfile, NO_DATA, False, 0, 1, 0, NO },
#ifdef __NR_sendfile64
    { __NR_sendfile64, NO_DATA, False, 0, 1, 0, NO },
#endif
    { __NR_splice, NO_DATA, False, 0, 0, 2, 3 },
    { __NR_tee, NO_DATA, False, 0, 0, 1, NO },
#ifdef __NR_copy_file_range
    { __NR_copy_file_range, NO_DATA, False, 0, 0, 2, 3 },
#endif
    { __NR_ioctl, AS_TOLD, False, 0, 0, NO, NO },
};

static const Shape *shape_of(UInt number)
{
    static const Shape other = { 0, AS_TOLD, False, 0, NO, NO, NO };
    for (UInt i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].number == number) return shapes + i;
    return &other;
}

typedef struct {
    Addr address;
    ULong bytes;
} Range;

typedef struct {
    Range *range;
    UInt count, room;
} Ranges;

static void add_range(Ranges *r, Addr address, ULong bytes)
{
    ROOM(r->range, r->count, r->room);
    Range new = { address, bytes };
    r->range[r->count++] = new;
}

/* What stood at an argument that is an address, before the call. */
#define KEPT_ARGUMENTS 6
#define KEPT_BYTES 256
typedef struct {
    Addr at;
    UInt size;
    UChar bytes[KEPT_BYTES];
} Kept;

/* A system call that a thread is in. */
typedef struct {
    Bool open;
    const Shape *shape;
    Bool gives;
    UInt number;
    UWord argument[8];
    /* Where its data is as the call says; of several messages, what each has: a range without address is between two. */
    Ranges data;
    /* What the core told: it reads (texts: also if it fails), it writes. */
    Ranges texts, reads, writes;
    /* Buffers whose length the kernel changes, as they were (written.h). */
    Ranges asked;
    /* `turns` when it began. */
    ULong turn;
    Kept kept[KEPT_ARGUMENTS];
} Call;

static Call **calls;
static UInt call_room;

static Call *call_of(ThreadId tid)
{
    ROOM(calls, tid, call_room);
    if (!calls[tid]) calls[tid] = VG_(calloc)("addfg.calls", 1, sizeof(Call));
    return calls[tid];
}

static void call_over(ThreadId tid) { call_of(tid)->open = False; }

static Bool in_call(ThreadId tid) { return call_of(tid)->open; }

static Bool in_exit(ThreadId tid) { return call_of(tid)->open && call_of(tid)->number == __NR_exit; }

/* ---- what the core tells ---- */

static void kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr a, SizeT size)
{
    Call *c = call_of(tid);
    if (part == Vg_CoreSysCall && size && c->open) add_range(&c->reads, a, size);
}

static void kernel_reads_text(CorePart part, ThreadId tid, const HChar *what, Addr a)
{
    Call *c = call_of(tid);
    if (part != Vg_CoreSysCall || !c->open) return;
    SizeT size = 0;
    Bool there = readable(a, 1);
    while (there && ((const HChar *)a)[size]) {
        size++;
        if ((a + size) % VKI_PAGE_SIZE == 0) there = readable(a + size, 1);
    }
    add_range(&c->texts, a, size + 1);
}

/* The call that is told of, if one is (written.h). */
static Call *telling;
static void keep_told(Call *c, Addr a, ULong bytes);

static void tell_access(Bool is_write, Addr a, ULong size, Bool structure)
{
    if (is_write && telling) keep_told(telling, a, size);
    EVENT(is_write ? ADDFG_KERNEL_WRITE : ADDFG_KERNEL_READ, a, size, structure);
    if (is_write) check_delivered(a, size);
    sums_kernel(is_write, a, size, structure);
}

static void kernel_writes(CorePart part, ThreadId tid, Addr a, SizeT size)
{
    if (!size) return;
    Call *c = call_of(tid);
    if (part == Vg_CoreSysCall && c->open) return add_range(&c->writes, a, size);
    if (part != Vg_CoreSysCall && part != Vg_CoreSignal) return;
    speak(tid);
    tell_access(True, a, size, False);
}

/* ---- where the data is ---- */

/* The system takes no more at once. */
#define MOST_PARTS 1024

static void note_vector(Ranges *r, Addr vector, UWord count)
{
    const struct vki_iovec *part = (const struct vki_iovec *)vector;
    if (count > MOST_PARTS || !readable(vector, count * sizeof *part)) return;
    for (UWord i = 0; i < count; i++)
        if (part[i].iov_len) add_range(r, (Addr)part[i].iov_base, part[i].iov_len);
}

static void note_message(Ranges *r, const struct vki_msghdr *m)
{
    if (readable((Addr)m, sizeof *m)) note_vector(r, (Addr)m->msg_iov, m->msg_iovlen);
}

/* As the kernel has it. */
typedef struct {
    struct vki_msghdr head;
    UInt length;
} Message;

/* In the order of messages, one without address behind each. */
static void note_messages(Ranges *r, Addr messages, UWord count)
{
    const Message *m = (const Message *)messages;
    for (UWord i = 0; i < count && i < MOST_PARTS && readable((Addr)(m + i), sizeof *m); i++) {
        note_message(r, &m[i].head);
        add_range(r, 0, 0);
    }
}

static void note_data(Call *c)
{
    const UWord *at = c->argument + c->shape->at;
    switch (c->shape->layout) {
    case AS_TOLD:
    case NO_DATA:
        return;
    case ONE_BUFFER:
        return add_range(&c->data, at[0], at[1]);
    case VECTOR:
        return note_vector(&c->data, at[0], at[1]);
    case MESSAGE:
        return note_message(&c->data, (const struct vki_msghdr *)at[0]);
    case MESSAGES:
        return note_messages(&c->data, at[0], at[1]);
    }
}

/* ---- what was moved ---- */

/* Where in a file that is mapped the next bytes that are told were written to. */
static Bool to_file;
static FileKey file_key;
static ULong file_at;

/* What a call writes to a file is told by that: where the program has the file, nothing else has changed it. */
static void keep_written(ULong bytes)
{
    for (UInt i = 0; i < mapping_count; i++) {
        const Mapping *m = mappings + i;
        if (!m->shared || !same_file(m->key, file_key)) continue;
        ULong from = file_at > m->offset ? file_at : m->offset, to = m->offset + (m->end - m->start);
        if (to > file_at + bytes) to = file_at + bytes;
        if (from < to) keep_told(telling, m->start + (from - m->offset), to - from);
    }
}

static void tell_data(const Call *c, Addr a, ULong size)
{
    tell_access(c->gives, a, size, False);
    if (!to_file) return;
    EVENT(ADDFG_FILE_WRITE, file_key.device, file_key.number, file_at, size, a);
    keep_written(size);
    sums_file_write(file_key, file_at, size, a);
    file_at += size;
}

/* Rules for single calls (written.h). */
static void note_written(Call *c);
static Bool tell_written(const Call *c, Bool error, UWord result);
static Bool tell_reads(const Call *c, Bool error, UWord result);
static void tell_changed(const Call *c);
static void tell_entries(Addr at, ULong bytes, UInt kind);

/* As much of the buffers as was moved, in their order. */
static void tell_parts(const Call *c, ULong left)
{
    for (UInt i = 0; i < c->data.count && left; i++) {
        Range r = c->data.range[i];
        ULong size = r.bytes < left ? r.bytes : left;
        tell_data(c, r.address, size);
        left -= size;
    }
}

/* Of each message that was sent or received, as much as the kernel says in it. */
static void tell_messages(const Call *c, UWord count)
{
    const Message *m = (const Message *)c->argument[c->shape->at];
    UInt i = 0;
    for (UWord k = 0; k < count && readable((Addr)(m + k), sizeof *m); k++) {
        ULong left = m[k].length;
        for (; i < c->data.count && c->data.range[i].address; i++) {
            Range r = c->data.range[i];
            ULong size = r.bytes < left ? r.bytes : left;
            if (size) tell_data(c, r.address, size);
            left -= size;
        }
        i++;
    }
}

static Bool within(const Ranges *r, Range of)
{
    for (UInt i = 0; i < r->count; i++) {
        Addr from = r->range[i].address;
        if (of.address >= from && of.address - from < r->range[i].bytes) return True;
    }
    return False;
}

static Bool is_awaited(Addr a)
{
    Range byte = { a, 1 };
    for (UInt tid = 1; tid < call_room; tid++) {
        const Call *c = calls[tid];
        if (c && c->open && c->gives && within(&c->data, byte)) return True;
    }
    return False;
}

static ULong position_of(const Call *c)
{
    if (c->shape->position == NO) return ~0ULL;
    UWord said = c->argument[(UInt)c->shape->position];
    if (c->shape->layout != NO_DATA) return c->number == __NR_pwrite64 || sizeof said == 8 ? said : ~0ULL;
    /* Where the position behind it stands. */
    if (!said || !readable(said, 8)) return ~0ULL;
    return *(const ULong *)said;
}

/* What is written to a file that is memory, too. */
static void find_file(const Call *c, UWord result)
{
    to_file = False;
    const Shape *s = c->shape;
    Bool copies = s->layout == NO_DATA;
    if (c->gives || s->layout == AS_TOLD || s->layout >= MESSAGE || s->descriptor == NO) return;
    Int fd = (Int)c->argument[(UInt)(copies ? s->other : s->descriptor)];
    ULong position = position_of(c);
    if (copies && position != ~0ULL) position -= result;
    /* preadv2 and pwritev2 with -1: as without a position. */
    UWord flags = 0;
#ifdef __NR_pwritev2
    if (c->number == __NR_pwritev2) flags = c->argument[5];
#endif
    to_file = is_memory(fd, position, result, flags, &file_key, &file_at);
    if (!to_file || !copies) return;
    EVENT(ADDFG_FILE_WRITE, file_key.device, file_key.number, file_at, result, 0);
    keep_written(result);
    sums_file_write(file_key, file_at, result, 0);
}

/* Where the next bytes are, as the kernel writes it behind a copy; the core does not know. */
static void tell_positions(const Call *c)
{
    Bool has = c->number == __NR_splice;
#ifdef __NR_copy_file_range
    has |= c->number == __NR_copy_file_range;
#endif
    for (UInt i = 1; has && i < 4; i += 2)
        if (c->argument[i]) tell_access(True, c->argument[i], 8, True);
}

static Bool is_own_process(Int pid)
{
    HChar path[64];
    struct vg_stat stat;
    if (pid == VG_(getpid)()) return True;
    /* Its threads have numbers, too. */
    VG_(sprintf)(path, "/proc/self/task/%d", pid);
    return !sr_isError(VG_(stat)(path, &stat));
}

/* The other process that a call reads or writes may be this one: so many bytes of the parts of a vector. */
static void tell_other(const Call *c, UInt number, Bool is_write, ULong bytes)
{
    const struct vki_iovec *part = (const struct vki_iovec *)c->argument[3];
    if (c->number != number || !is_own_process((Int)c->argument[0])) return;
    for (UWord i = 0; i < c->argument[4] && bytes && readable((Addr)(part + i), sizeof *part); i++) {
        ULong here = part[i].iov_len < bytes ? part[i].iov_len : bytes;
        if (here) tell_access(is_write, (Addr)part[i].iov_base, here, False);
        bytes -= here;
    }
}

/* What TCP receives with MSG_TRUNC is thrown away. */
static Bool discards(const Call *c)
{
    enum { TRUNC = 0x20, SOCKET = 1, PROTOCOL = 38, TCP = 6, MPTCP = 262 };
    Int protocol = 0;
    UInt size = sizeof protocol;
    UWord flags = c->number == __NR_recvmsg ? c->argument[2] : c->argument[3];
    if (c->number != __NR_recvfrom && c->number != __NR_recvmsg && c->number != __NR_recvmmsg) return False;
    if (!(flags & TRUNC)) return False;
    SysRes r = VG_(do_syscall)(__NR_getsockopt, c->argument[0], SOCKET, PROTOCOL, (Addr)&protocol, (Addr)&size, 0, 0, 0);
    return !sr_isError(r) && (protocol == TCP || protocol == MPTCP);
}

static void tell_moved(const Call *c, Bool error, UWord result)
{
    Layout layout = c->shape->layout;
    /* What is read was there before what is written. */
    Bool reads = tell_reads(c, error, result);
    for (UInt i = 0; i < c->texts.count && !reads; i++) tell_access(False, c->texts.range[i].address, c->texts.range[i].bytes, False);
    for (UInt i = 0; i < c->reads.count && !error && !reads && layout == AS_TOLD; i++)
        tell_access(False, c->reads.range[i].address, c->reads.range[i].bytes, False);
#ifdef __NR_process_vm_readv
    if (!error) tell_other(c, __NR_process_vm_readv, False, result);
#endif
    Bool known = tell_written(c, error, result);
    /* Structures, and what is no data: names of peers, positions. */
    for (UInt i = 0; i < c->writes.count && !known; i++)
        if (!within(&c->data, c->writes.range[i]))
            tell_access(True, c->writes.range[i].address, c->writes.range[i].bytes, layout != AS_TOLD);
    if (error) return;
    if (result) tell_positions(c);
    if (discards(c)) return;
    find_file(c, result);
    if (layout == MESSAGES) tell_messages(c, result);
    else if (c->number == __NR_getdents64) tell_entries(c->argument[1], result, 18);
#ifdef __NR_getdents
    else if (c->number == __NR_getdents) tell_entries(c->argument[1], result, 0);
#endif
    else if (layout != AS_TOLD && layout != NO_DATA) tell_parts(c, result);
    to_file = False;
#ifdef __NR_process_vm_writev
    tell_other(c, __NR_process_vm_writev, True, result);
#endif
}

static void tell_call(Call *c, Bool error, UWord result)
{
    telling = c;
    tell_moved(c, error, result);
    tell_changed(c);
    telling = NULL;
}

/* ---- names of descriptors ---- */

/* What was told of each, up to here. */
#define TOLD 65536
static HChar **told;
static UInt told_room;

static void forget_told(void)
{
    for (UInt i = 0; i < told_room; i++) {
        if (told[i]) VG_(free)(told[i]);
        told[i] = NULL;
    }
}

/* Whether this is new. */
static Bool not_told(ULong fd, const HChar *name)
{
    if (fd >= TOLD) return True;
    ROOM(told, fd, told_room);
    if (told[fd] && VG_(strcmp)(told[fd], name) == 0) return False;
    if (told[fd]) VG_(free)(told[fd]);
    told[fd] = VG_(strdup)("addfg.told", name);
    return True;
}

/* What a descriptor is open on now: whatever has opened, closed, copied or received it. */
static void name_descriptor(ULong fd)
{
    HChar link[64], name[4096];
    VG_(sprintf)(link, "/proc/self/fd/%llu", fd);
    SSizeT n = VG_(readlink)(link, name, sizeof name - 1);
    /* Closed. Of the standard ones that is told: what is open on them later is another thing. */
    if (n < 0 && fd > 2 && !(fd < told_room && told[fd])) return;
    if (n < 0) n = 0;
    name[n] = 0;
    if (not_told(fd, name)) EVENT_TEXT(ADDFG_DESCRIPTOR, name, fd);
}

static void name_two(Addr pair)
{
    const Int *fd = (const Int *)pair;
    name_descriptor(fd[0]);
    name_descriptor(fd[1]);
}

/* Names what a system call has opened, so that pipes and sockets are counted in the order in which they are made. */
static void name_opened(UInt number, const UWord *args, ULong result)
{
    switch (number) {
#ifdef __NR_socket
    case __NR_socket:
#endif
#ifdef __NR_accept
    case __NR_accept:
#endif
#ifdef __NR_accept4
    case __NR_accept4:
#endif
        return name_descriptor(result);
#ifdef __NR_pipe
    case __NR_pipe:
#endif
    case __NR_pipe2:
        return name_two(args[0]);
#ifdef __NR_socketpair
    case __NR_socketpair:
        return name_two(args[3]);
#endif
    }
}

/* ---- begin and end of a call ---- */

/* Records that are written before a thread waits, at least: a process that waits may be killed. */
#define WORTH_WRITING 4096

static Bool waits(UInt number)
{
    switch (number) {
#ifdef __NR_poll
    case __NR_poll:
#endif
#ifdef __NR_select
    case __NR_select:
#endif
#ifdef __NR_epoll_wait
    case __NR_epoll_wait:
#endif
#ifdef __NR_pause
    case __NR_pause:
#endif
#ifdef __NR_accept
    case __NR_accept:
#endif
#ifdef __NR_accept4
    case __NR_accept4:
#endif
    case __NR_ppoll:
    case __NR_pselect6:
    case __NR_epoll_pwait:
    case __NR_nanosleep:
    case __NR_clock_nanosleep:
    case __NR_rt_sigsuspend:
    case __NR_wait4:
    case __NR_waitid:
        return True;
    default:
        return False;
    }
}

/* Nothing follows, if it is done. */
static void before_exec(Addr file)
{
    event(ADDFG_EXEC, 0, NULL, readable(file, 1) ? (const HChar *)file : "");
    flush_buffer();
    sums_exec();
}

/* Where a process that the open call makes finds its own number; 0: nowhere. */
static Addr numbers_at;

/* Written there before the process runs. */
static void tell_number(UInt call, SysRes result)
{
    Bool makes = call == __NR_clone;
#ifdef __NR_clone3
    makes |= call == __NR_clone3;
#endif
    if (makes && !sr_isError(result) && !sr_Res(result) && numbers_at) tell_access(True, numbers_at, sizeof(Int), False);
}

static void before_clone(const UWord *args)
{
#if defined(VGA_amd64)
    UWord address = args[3];
#else
    UWord address = args[4];
#endif
    clears = args[0] & VKI_CLONE_CHILD_CLEARTID ? address : 0;
    numbers_at = args[0] & VKI_CLONE_CHILD_SETTID ? address : 0;
}

#ifdef __NR_clone3
/* Its first argument: flags, a descriptor, the address, eight bytes each. */
static void before_clone3(Addr arguments)
{
    if (!readable(arguments, 24)) return;
    const ULong *of = (const ULong *)arguments;
    clears = of[0] & VKI_CLONE_CHILD_CLEARTID ? of[2] : 0;
    numbers_at = of[0] & VKI_CLONE_CHILD_SETTID ? of[2] : 0;
}
#endif

/* A pipe's end that is read from is filled by nothing: the memory is. */
static Bool takes_from_pipe(const Call *c)
{
    return c->number == __NR_vmsplice && (VG_(fcntl)((Int)c->argument[0], VKI_F_GETFL, 0) & VKI_O_ACCMODE) == VKI_O_RDONLY;
}

static void begin_call(ThreadId tid, UInt number, const UWord *args, UInt n)
{
    Call *c = call_of(tid);
    c->open = True;
    c->number = number;
    c->shape = shape_of(number);
    for (UInt i = 0; i < 8; i++) c->argument[i] = i < n ? args[i] : 0;
    c->data.count = c->texts.count = c->reads.count = c->writes.count = 0;
    c->gives = c->shape->gives || takes_from_pipe(c);
    note_data(c);
    note_written(c);
    if (c->shape->descriptor != NO) name_descriptor((UInt)args[(UInt)c->shape->descriptor]);
    if (c->shape->other != NO) name_descriptor((UInt)args[(UInt)c->shape->other]);
}

static void pre_syscall(ThreadId tid, UInt number, UWord *args, UInt n)
{
    speak(tid);
    begin_call(tid, number, args, n);
    ULong numbers[2 + 8] = { number, n < 8 ? n : 8 };
    for (UInt i = 0; i < n && i < 8; i++) numbers[2 + i] = args[i];
    event(ADDFG_SYSCALL, 2 + (n < 8 ? n : 8), numbers, NULL);
    sums_called(number, args, n);
    if (waits(number) && cursor > (ULong)(Addr)buffer + WORTH_WRITING) flush_buffer();
    if (number == __NR_clone) before_clone(args);
#ifdef __NR_clone3
    if (number == __NR_clone3) before_clone3(args[0]);
#endif
    if (number == __NR_execve) before_exec(args[0]);
#ifdef __NR_execveat
    if (number == __NR_execveat) before_exec(args[1]);
#endif
}

static void post_syscall(ThreadId tid, UInt number, UWord *args, UInt n, SysRes result)
{
    Bool error = sr_isError(result);
    /* Other threads may have run while it waited. */
    speak(tid);
    Call *c = call_of(tid);
    if (!error) name_opened(number, args, sr_Res(result));
    if (!error && number == __NR_set_tid_address) thread_of[tid].cleared = args[0];
    if (!error && number == __NR_set_robust_list) thread_of[tid].robust = args[0];
    /* Of a range with holes all that is there is taken back. */
    UWord why = error ? sr_Err(result) : 0;
    Bool removes = args[2] == 9 /* MADV_REMOVE */ && (why == VKI_EINVAL || why == VKI_EACCES);
    Bool some = number == __NR_madvise && (why == VKI_ENOMEM || removes);
    if (!error || some) memory_call(number, args, error ? why : sr_Res(result));
    if (c->open) tell_call(c, error, error ? sr_Err(result) : sr_Res(result));
    /* What the kernel does when a thread has ended is of its `exit`. */
    if (number == __NR_exit) return;
    c->open = False;
    tell_number(number, result);
    forked_off(result);
    EVENT(ADDFG_SYSCALL_END, error, error ? sr_Err(result) : sr_Res(result));
}
