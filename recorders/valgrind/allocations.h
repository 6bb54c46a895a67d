/* Heap allocations: what allocation functions are asked for and give. A part of addfg_main.c.
 *
 * A block that begins at the entry of one calls `enter_allocator`, which keeps what it is asked for.
 * Blocks that end in a return compare the stack pointer with the one that the outermost such call of
 * the running thread returns with, and call `leave_allocator` there only.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* What an allocation function does, by the numbers of its arguments; NONE: it has no such. */
typedef struct {
    const HChar *name;
    Int bytes, times;
    /* The allocation that it takes back; where it stores the address instead of returning it. */
    Int released, through;
} Allocator;

#define NONE (-1)

static const Allocator allocators[] = {
    { "malloc", 0, NONE, NONE, NONE },
    { "calloc", 0, 1, NONE, NONE },
    { "realloc", 1, NONE, 0, NONE },
    { "reallocarray", 1, 2, 0, NONE },
    { "memalign", 1, NONE, NONE, NONE },
    { "aligned_alloc", 1, NONE, NONE, NONE },
    { "posix_memalign", 2, NONE, NONE, 0 },
    { "valloc", 0, NONE, NONE, NONE },
    { "pvalloc", 0, NONE, NONE, NONE },
    { "free", NONE, NONE, 0, NONE },
    { "cfree", NONE, NONE, 0, NONE },
    { "free_sized", NONE, NONE, 0, NONE },
    { "free_aligned_sized", NONE, NONE, 0, NONE },
    { "_malloc_r", 1, NONE, NONE, NONE },
    { "_calloc_r", 1, 2, NONE, NONE },
    { "_realloc_r", 2, NONE, 1, NONE },
    { "_memalign_r", 2, NONE, NONE, NONE },
    { "_free_r", NONE, NONE, 1, NONE },
    { "operator new", 0, NONE, NONE, NONE },
    { "operator new[]", 0, NONE, NONE, NONE },
    { "operator delete", NONE, NONE, 0, NONE },
    { "operator delete[]", NONE, NONE, 0, NONE },
};
#define ALLOCATORS (sizeof allocators / sizeof *allocators)

/* The program's own, `pool_get=malloc`. */
#define OWN 64
static struct { const HChar *name; const Allocator *like; } own_allocator[OWN];
static UInt own_allocators;

static const Allocator *plain_allocator(const HChar *name, SizeT length)
{
    for (UInt i = 0; i < ALLOCATORS; i++)
        if (VG_(strlen)(allocators[i].name) == length && VG_(strncmp)(allocators[i].name, name, length) == 0)
            return allocators + i;
    return NULL;
}

/* `operator new(unsigned long, ...)` as it is demangled. Placement new allocates nothing. */
static const Allocator *operator_allocator(const HChar *name)
{
    const HChar *open = VG_(strchr)(name, '(');
    if (!open) return NULL;
    const Allocator *a = plain_allocator(name, open - name);
    if (!a) return NULL;
    const HChar *rest = open + 1;
    if (a->bytes == NONE) {
        if (VG_(strncmp)(rest, "void*", 5) != 0) return NULL;
        rest += 5;
    } else if (VG_(strncmp)(rest, "unsigned", 8) != 0) {
        return NULL;
    }
    return VG_(strstr)(rest, "void*") ? NULL : a;
}

/* The allocation function at an address; as in src/replay/allocations/functions.rs. */
static const Allocator *allocator_at(Addr address)
{
    const HChar *name;
    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name)) return NULL;
    for (UInt i = 0; i < own_allocators; i++)
        if (is_entry(address, own_allocator[i].name)) return own_allocator[i].like;
    if (VG_(strncmp)(name, "operator ", 9) == 0) return operator_allocator(name);
    if (VG_(strncmp)(name, "__GI_", 5) == 0) name += 5;
    if (VG_(strncmp)(name, "__libc_", 7) == 0) name += 7;
    else if (VG_(strncmp)(name, "__", 2) == 0) name += 2;
    const HChar *version = VG_(strchr)(name, '@');
    return plain_allocator(name, version ? (SizeT)(version - name) : VG_(strlen)(name));
}

/* `NAME=FUNCTION` */
static void allocator_option(const HChar *text)
{
    const HChar *like = VG_(strrchr)(text, '=');
    const Allocator *found = like ? plain_allocator(like + 1, VG_(strlen)(like + 1)) : NULL;
    if (!found || own_allocators == OWN) VG_(fmsg_bad_option)("--allocator", "%s: no NAME=FUNCTION, or one too many\n", text);
    HChar *name = VG_(strdup)("addfg.allocator", text);
    name[like - text] = 0;
    own_allocator[own_allocators].name = name;
    own_allocator[own_allocators++].like = found;
}

/* ---- calls that have not returned ---- */

typedef struct {
    /* The stack pointer behind its return; all ones: there is no call. */
    UWord behind;
    const Allocator *what;
    ULong bytes;
    Addr through;
} Asked;

/* A signal's handler may allocate within one. */
#define NESTED 4
typedef struct {
    UInt depth;
    Asked asked[NESTED];
} Asking;

static Asking *asking;
static UInt asking_room;
/* Of the running thread. */
static UWord behind = ~(UWord)0;

static Asking *asking_of(ThreadId tid)
{
    UInt had = asking_room;
    ROOM(asking, tid, asking_room);
    for (; had < asking_room; had++) asking[had].asked[0].behind = ~(UWord)0;
    return asking + tid;
}

static Asked *asked_by(ThreadId tid)
{
    Asking *of = asking_of(tid);
    return of->asked + of->depth;
}

/* Another thread runs, or this one elsewhere. */
static void asks(ThreadId tid) { behind = asked_by(tid)->behind; }

static void asks_nothing(ThreadId tid)
{
    Asking *of = asking_of(tid);
    of->depth = 0;
    of->asked[0].behind = ~(UWord)0;
}

static void forget_asked(void)
{
    for (UInt i = 0; i < asking_room; i++) asks_nothing(i);
    behind = ~(UWord)0;
}

static void handler_begins(ThreadId tid)
{
    Asking *of = asking_of(tid);
    if (of->depth + 1 < NESTED) of->depth++;
    behind = of->asked[of->depth].behind = ~(UWord)0;
}

static void handler_ends(ThreadId tid)
{
    Asking *of = asking_of(tid);
    if (of->depth) of->depth--;
    asks(tid);
}

/* ---- what blocks call ---- */

#if defined(VGA_amd64) || defined(VGA_x86)
#define RETURN_POPS sizeof(UWord)
#else
#define RETURN_POPS 0
#endif

static void enter_allocator(UWord at, UWord stack, UWord first, UWord second, UWord third)
{
    /* Within another one; but one that has a stack below this one's was left by a jump. */
    if (behind != ~(UWord)0 && stack + RETURN_POPS <= behind) return;
    UWord argument[] = { first, second, third };
#if defined(VGA_x86)
    for (UInt i = 0; i < 3; i++) argument[i] = ((const UWord *)stack)[1 + i];
#endif
    const Allocator *what = (const Allocator *)at;
    if (what->released != NONE && argument[(UInt)what->released]) {
        UInt kind = what->bytes == NONE ? ADDFG_FREE : ADDFG_REALLOCATE;
        EVENT(kind, argument[(UInt)what->released]);
    }
    Asked *asked = asked_by(VG_(get_running_tid)());
    asked->behind = behind = stack + RETURN_POPS;
    asked->what = what;
    asked->through = what->through == NONE ? 0 : argument[(UInt)what->through];
    if (what->bytes == NONE) return;
    ULong bytes = argument[(UInt)what->bytes], times = what->times == NONE ? 1 : argument[(UInt)what->times];
    /* A product that is too large gets nothing. */
    if (__builtin_mul_overflow(bytes, times, &asked->bytes)) asked->bytes = ~0ULL;
}

static void leave_allocator(UWord stack, UWord result)
{
    Asked *asked = asked_by(VG_(get_running_tid)());
    Bool returned = asked->behind == stack;
    asked->behind = behind = ~(UWord)0;
    if (!returned || asked->what->bytes == NONE) return;
    Addr given = result;
    if (asked->what->through != NONE) given = result ? 0 : *(const Addr *)asked->through;
    EVENT(ADDFG_ALLOCATE, given, asked->bytes);
}

/* ---- their calls ---- */

#if defined(VGA_amd64)
static const Int arguments[] = { offsetof(VexGuestArchState, guest_RDI), offsetof(VexGuestArchState, guest_RSI),
                                 offsetof(VexGuestArchState, guest_RDX) };
#define RESULT offsetof(VexGuestArchState, guest_RAX)
#elif defined(VGA_x86)
/* On the stack. */
static const Int arguments[] = { offsetof(VexGuestArchState, guest_ESP), offsetof(VexGuestArchState, guest_ESP),
                                 offsetof(VexGuestArchState, guest_ESP) };
#define RESULT offsetof(VexGuestArchState, guest_EAX)
#elif defined(VGA_arm64)
static const Int arguments[] = { offsetof(VexGuestArchState, guest_X0), offsetof(VexGuestArchState, guest_X1),
                                 offsetof(VexGuestArchState, guest_X2) };
#define RESULT offsetof(VexGuestArchState, guest_X0)
#elif defined(VGA_arm)
static const Int arguments[] = { offsetof(VexGuestArchState, guest_R0), offsetof(VexGuestArchState, guest_R1),
                                 offsetof(VexGuestArchState, guest_R2) };
#define RESULT offsetof(VexGuestArchState, guest_R0)
#endif

static IRExpr *register_now(IRSB *out, Int offset)
{
    IRType type = sizeof(UWord) == 8 ? Ity_I64 : Ity_I32;
    IRTemp t = newIRTemp(out->tyenv, type);
    addStmtToIRSB(out, IRStmt_WrTmp(t, IRExpr_Get(offset, type)));
    return IRExpr_RdTmp(t);
}

/* Before a block that begins at `address`. */
static void asked_here(IRSB *out, const VexGuestLayout *layout, Addr address)
{
    const Allocator *what = allocator_at(address);
    if (!what) return;
    IRExpr **of = mkIRExprVec_5(mkIRExpr_HWord((HWord)what), register_now(out, layout->offset_SP),
                                register_now(out, arguments[0]), register_now(out, arguments[1]),
                                register_now(out, arguments[2]));
    addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(0, "enter_allocator", VG_(fnptr_to_fnentry)(&enter_allocator), of)));
}

/* Behind a block that ends in a return. */
static void given_here(IRSB *out, const VexGuestLayout *layout, IREndness end)
{
    Bool wide = sizeof(UWord) == 8;
    IRTemp expected = newIRTemp(out->tyenv, wide ? Ity_I64 : Ity_I32), returns = newIRTemp(out->tyenv, Ity_I1);
    IRExpr *stack = register_now(out, layout->offset_SP);
    addStmtToIRSB(out, IRStmt_WrTmp(expected, IRExpr_Load(end, wide ? Ity_I64 : Ity_I32, mkIRExpr_HWord((HWord)&behind))));
    IROp less = wide ? Iop_CmpLE64U : Iop_CmpLE32U;
    addStmtToIRSB(out, IRStmt_WrTmp(returns, IRExpr_Binop(less, IRExpr_RdTmp(expected), stack)));
    IRExpr **of = mkIRExprVec_2(stack, register_now(out, RESULT));
    IRDirty *d = unsafeIRDirty_0_N(0, "leave_allocator", VG_(fnptr_to_fnentry)(&leave_allocator), of);
    d->guard = IRExpr_RdTmp(returns);
    addStmtToIRSB(out, IRStmt_Dirty(d));
}
