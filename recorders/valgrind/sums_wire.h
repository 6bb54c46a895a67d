/* What the recorder asks of addfg, which runs it, when it sums data flow (docs/sums.md): messages over a
 * socket. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

enum { SAY_MAP = 1, SAY_UNMAP, SAY_CODE, SAY_ROWS, SAY_PROBLEM, SAY_END, SAY_EVENT, SAY_SOURCE, SAY_SNAPSHOT, SAY_BEGIN };

/* Data flow is summed; addfg's end of the socket. */
static Bool summing = False;
static Int sums_fd = -1;
/* Where each process of a tree finds addfg; NULL: there is one process. What addfg calls this one. */
static const HChar *sums_at;
static UInt sums_process = ~0u;
/* Messages that were not sent yet; where the one that is being made begins, with a head of 8 bytes. */
static UChar *said;
static UInt said_length, said_room, said_start;
/* Messages without an answer are sent together, up to so many bytes. The next one is sent at once. */
#define TOGETHER 4096
static Bool at_once = False;
/* The answer that is being read. */
static UChar *heard;
static UInt heard_length, heard_at, heard_room;

static void *room_for(UInt bytes)
{
    if (said_length + bytes > said_room) {
        said_room = (said_length + bytes) * 2 + 4096;
        said = VG_(realloc)("addfg.said", said, said_room);
    }
    said_length += bytes;
    return said + said_length - bytes;
}

static void say_begin(void)
{
    said_start = said_length;
    room_for(8);
}

static void say4(UInt n) { VG_(memcpy)(room_for(4), &n, 4); }
static void say8(ULong n) { VG_(memcpy)(room_for(8), &n, 8); }
static void say_bytes(const void *bytes, UInt n) { VG_(memcpy)(room_for(n), bytes, n); }

/* Memory that addfg has, too: how many bytes of the socket each end has sent. To look there takes no call of the system.
 * NULL: there is none. */
#define SENT_AT 0x1fffffffe000ULL
static volatile UInt *sent;
/* Bytes of addfg's that have been read. */
static UInt got;

static volatile UInt *sent_by_addfg(void) { return sent; }
static volatile UInt *sent_by_us(void) { return sent + 16; }
static Bool nothing_came(void) { return sent && __atomic_load_n(sent_by_addfg(), __ATOMIC_ACQUIRE) == got; }

/* The first message of addfg has that memory. */
static void share_counts(void)
{
    UInt word;
    struct vki_iovec bytes = { &word, sizeof word };
    struct { struct vki_cmsghdr head; Int fd; } __attribute__((aligned(8))) with = {{0}, -1};
    struct vki_msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with };
    sent = NULL;
    got = 0;
    SysRes r;
    do r = VG_(do_syscall)(__NR_recvmsg, sums_fd, (RegWord)(Addr)&message, 0, 0, 0, 0, 0, 0);
    while (sr_isError(r) && sr_Err(r) == VKI_EINTR);
    if (sr_isError(r) || message.msg_controllen < sizeof with.head + sizeof with.fd || with.head.cmsg_type != VKI_SCM_RIGHTS) return;
    r = VG_(do_syscall)(__NR_mmap, (Addr)SENT_AT, VKI_PAGE_SIZE, VKI_PROT_READ | VKI_PROT_WRITE, VKI_MAP_SHARED | VKI_MAP_FIXED, with.fd, 0, 0, 0);
    if (!sr_isError(r)) sent = (UInt *)(Addr)SENT_AT;
    VG_(close)(with.fd);
}

/* addfg is gone: the program goes on without sums. */
static void hear_nothing(void)
{
    if (summing) VG_(umsg)("addfg: nobody takes the sums any more\n");
    summing = False;
    heard_length = heard_at = 0;
}

#define NO_SIGNAL 0x4000

static void say_all(void)
{
    for (UInt at = 0; at < said_length && summing;) {
        /* Without a signal where nobody listens. */
        SysRes r = VG_(do_syscall)(__NR_sendto, sums_fd, (RegWord)(Addr)said + at, said_length - at, NO_SIGNAL, 0, 0, 0, 0);
        if (sr_isError(r) && sr_Err(r) == VKI_EINTR) continue;
        if (sr_isError(r)) {
            hear_nothing();
            break;
        }
        at += sr_Res(r);
        if (sent) __atomic_fetch_add(sent_by_us(), (UInt)sr_Res(r), __ATOMIC_RELEASE);
    }
    said_length = 0;
    at_once = False;
}

/* Whether nobody waits for what follows from it. */
static Bool can_wait(UInt kind) { return kind == SAY_EVENT || kind == SAY_UNMAP || kind == SAY_ROWS || kind == SAY_PROBLEM; }

static void say_end(UInt kind)
{
    UInt length = said_length - said_start - 8;
    VG_(memcpy)(said + said_start, &kind, 4);
    VG_(memcpy)(said + said_start + 4, &length, 4);
    if (!can_wait(kind) || at_once || said_length > TOGETHER) say_all();
}

static Bool hear_bytes(UChar *to, UInt length)
{
    for (UInt at = 0; at < length;) {
        Int n = VG_(read)(sums_fd, to + at, length - at);
        if (n == -VKI_EINTR) continue;
        if (n <= 0) {
            hear_nothing();
            return False;
        }
        at += n;
        got += n;
    }
    return True;
}

/* addfg asks for the sums as they are: this stands before or behind an answer. */
#define ASKED (~0u)
static UInt asked_for;

static Bool is_asked(UInt at, UInt end)
{
    UInt word = 0;
    if (at + 4 <= end) VG_(memcpy)(&word, heard + at, 4);
    return word == ASKED;
}

#define DONT_WAIT 0x40

/* Whether addfg has asked, once for each time. */
static Bool was_asked(void)
{
    UInt word = 0;
    if (!nothing_came()) {
        SysRes r = VG_(do_syscall)(__NR_recvfrom, sums_fd, (RegWord)(Addr)&word, 4, DONT_WAIT, 0, 0, 0, 0);
        if (!sr_isError(r)) got += sr_Res(r);
        if (!sr_isError(r) && sr_Res(r) == 4 && word == ASKED) asked_for++;
    }
    if (!asked_for) return False;
    asked_for--;
    return True;
}

/* Times to look for an answer before it is waited for, longer than most answers take: the first ones without leaving
 * the processor. None where addfg has no other processor than this one. */
#define LOOKS 2000
#define OWN_LOOKS 500
#if defined(VGA_amd64) || defined(VGA_x86)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("" ::: "memory")
#endif

static UInt looks(void)
{
    static UInt times = ~0u;
    if (times != ~0u) return times;
    UWord processors[16] = {0};
    UInt n = 0;
    SysRes r = VG_(do_syscall)(__NR_sched_getaffinity, 0, sizeof processors, (RegWord)(Addr)processors, 0, 0, 0, 0, 0);
    for (UInt i = 0; !sr_isError(r) && i < 16; i++) n += __builtin_popcountl(processors[i]);
    return times = n == 1 ? 0 : LOOKS;
}

/* Reads what has come, or waits for it. To fall asleep and to be woken costs more than most answers. */
static Int hear_some(UChar *to, UInt room)
{
    for (UInt i = sent ? 0 : OWN_LOOKS; i < looks(); i++) {
        if (!nothing_came()) {
            SysRes r = VG_(do_syscall)(__NR_recvfrom, sums_fd, (RegWord)(Addr)to, room, DONT_WAIT, 0, 0, 0, 0);
            if (!sr_isError(r)) {
                got += sr_Res(r);
                return sr_Res(r);
            }
            if (sr_Err(r) != VKI_EAGAIN) break;
        }
        /* Who answers may have no processor. */
        if (i >= OWN_LOOKS) VG_(do_syscall)(__NR_sched_yield, 0, 0, 0, 0, 0, 0, 0, 0);
        else PAUSE();
    }
    Int n = VG_(read)(sums_fd, to, room);
    if (n > 0) got += n;
    return n;
}

/* The answer to what was said last. */
static Bool hear(void)
{
    UInt length;
    heard_at = heard_length = 0;
    if (!summing) return False;
    if (!heard) heard = VG_(malloc)("addfg.heard", (heard_room = 1 << 16) + 4);
    /* Mostly all of it comes at once: its length, then it. */
    Int n = hear_some(heard, heard_room);
    if (n <= 0 && n != -VKI_EINTR) {
        hear_nothing();
        return False;
    }
    UInt had = n > 0 ? n : 0;
    for (;;) {
        if (had < 4 && !hear_bytes(heard + had, 4 - had)) return False;
        if (had < 4) had = 4;
        if (!is_asked(0, had)) break;
        asked_for++;
        had -= 4;
        VG_(memmove)(heard, heard + 4, had);
    }
    VG_(memcpy)(&length, heard, 4);
    if (length + 4 > heard_room) heard = VG_(realloc)("addfg.heard", heard, (heard_room = length * 2 + 4) + 4);
    if (had < length + 4 && !hear_bytes(heard + had, length + 4 - had)) return False;
    /* What is behind the answer asks. */
    UInt more = had > length + 4 ? had - length - 4 : 0;
    if (more % 4 && !hear_bytes(heard + had, 4 - more % 4)) return False;
    asked_for += (more + 3) / 4;
    heard_at = 4;
    heard_length = length + 4;
    return True;
}

static UInt hear4(void)
{
    UInt n = 0;
    if (heard_at + 4 <= heard_length) VG_(memcpy)(&n, heard + heard_at, 4);
    heard_at += 4;
    return n;
}

static ULong hear8(void)
{
    ULong low = hear4();
    return low | (ULong)hear4() << 32;
}

/* What is not exact is said once each, with how often it was met, at the end. */
typedef enum { TOO_MANY_FUNCTIONS, SPLIT_STORES, ODD_CODE, FAULTS, TOO_HIGH, GUARDED_SAVES, SHARED, SPLIT_VECTORS, TOO_MANY_NAMES, PROBLEMS } Problem;
static ULong problem_count[PROBLEMS];
static const HChar *const problem_text[PROBLEMS] = {
    "functions beyond the 14,334 that there is room for",
    "stores into the middle of what an older store wrote: loads of both sides of it count two transfers",
    "instructions with accesses on both sides of a place where they can be left",
    "faults, at which what was not run of their blocks is counted",
    "accesses to addresses that others 2 TiB away are taken for",
    "conditional stores of registers, or reads of restored ones that several wrote",
    "mappings of shared memory that there is no room for",
    "writes into the middle of a vector of which both sides are read: what is left there counts two transfers",
    "reads and writes of the kernel beyond the 2,047 names that there is room for",
};

/* Tells addfg that a process begins, with so many segments of the process that it comes from. */
static Bool say_process(UInt inherited)
{
    say_begin();
    say4(sums_process);
    say4(inherited);
    say_end(SAY_BEGIN);
    if (!hear()) return False;
    sums_process = hear4();
    return True;
}

/* A socket to addfg; negative: there is none. */
static Int connected(void)
{
    struct { UShort family; HChar path[108]; } at = { 1, "" };
    VG_(strncpy)(at.path, sums_at, sizeof at.path - 1);
    SysRes made = VG_(do_syscall)(__NR_socket, at.family, 1, 0, 0, 0, 0, 0, 0);
    if (sr_isError(made)) return -1;
    SysRes r = VG_(do_syscall)(__NR_connect, sr_Res(made), (RegWord)(Addr)&at, sizeof at, 0, 0, 0, 0, 0);
    if (!sr_isError(r)) return VG_(safe_fd)(sr_Res(made));
    VG_(close)(sr_Res(made));
    return -1;
}

/* A process of a tree begins. */
static Bool begin_process(UInt inherited)
{
    sums_fd = connected();
    summing = sums_fd >= 0;
    if (!summing) VG_(umsg)("addfg: %s cannot be connected to: process %d is not in the sums\n", sums_at, VG_(getpid)());
    if (summing) share_counts();
    return summing && say_process(inherited);
}

static void problem(Problem which) { problem_count[which]++; }

static void say_problems(void)
{
    HChar text[200];
    for (UInt i = 0; i < PROBLEMS; i++) {
        if (!problem_count[i]) continue;
        UInt n = VG_(snprintf)(text, sizeof text, "%llu %s", problem_count[i], problem_text[i]);
        say_begin();
        say_bytes(text, n < sizeof text ? n : sizeof text);
        say_end(SAY_PROBLEM);
    }
}
