/* addfg's recorder: a Valgrind tool that writes the executed instructions and their memory accesses
 * as a stream (docs/stream.md), with what lackey's log lacks: where code was loaded, threads,
 * system calls with what the kernel read and wrote, signals.
 *
 * Each translated block writes the number of the path that it took and the addresses of its
 * accesses into a buffer, with a store each and no call. The buffer is packed and written when it
 * is full. Addresses that are constant, or differ from an earlier one of the block by a constant,
 * are in the block's definition.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */
#include "pub_tool_basics.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_guest.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_transtab.h"
#if defined(VGA_amd64)
#include "libvex_guest_amd64.h"
#endif
#include <stddef.h>

/* The core has it, the tools' headers do not. */
extern Int VG_(safe_fd)(Int fd);
/* Where valgrind's messages go: the structure's first member, in all versions. */
extern Int VG_(log_output_sink);
extern Int VG_(sigemptyset)(vki_sigset_t *set);
extern Int VG_(sigaddset)(vki_sigset_t *set, Int number);
extern Int VG_(sigtimedwait_zero)(const vki_sigset_t *set, vki_siginfo_t *info);
extern Int VG_(fcntl)(Int fd, Int cmd, Addr arg);
extern SysRes VG_(do_syscall)(UWord number, RegWord a1, RegWord a2, RegWord a3, RegWord a4, RegWord a5, RegWord a6, RegWord a7, RegWord a8);

#define ADDFG_REALLOC(p, n) VG_(realloc)("addfg", (p), (n))
#include "addfg_stream.h"

/* Runs wait here; a block that begins behind `limit` has the buffer packed first. */
#define BUFFER (1 << 20)
/* More than one block can fill. */
#define SLACK (1 << 16)
/* Return addresses that are told of a stack on which a thread goes on. */
#define RETURNS_ABOVE 6

static UChar buffer[BUFFER + SLACK];
/* Next free byte; the place in the buffer of the block that began last, and which one it is. */
static ULong cursor;
static ULong begun;
static UInt begun_block;
static addfg_stream stream;
static const HChar *stream_name;
static Int stream_fd = -1, given_fd = -1;
/* Each process of the tree writes a stream: what their names begin with; none: the first only. */
static const HChar *each_name;
/* The file that valgrind's messages are added to; none: standard error, which is the program's, too. */
static const HChar *said_name;
static Bool recording = False;
static Bool first_block = True;

/* Sums of data flow (sums.h). */
static void sums_runs(ThreadId tid);
static void sums_new_thread(ThreadId tid);
static void sums_mapped(Addr a, SizeT bytes, Bool executable, ULong offset, const HChar *name);
static void sums_unmapped(Addr a, SizeT bytes);
static void sums_moved(Addr from, Addr to, SizeT bytes);
static void sums_fresh(Addr a, SizeT bytes);
static void sums_kernel(Bool is_write, Addr a, ULong bytes, Bool structure);
static void sums_event(UInt kind, const UChar *payload, UInt length);
static void sums_called(UInt number, const UWord *arguments, UInt n);
static void sums_before_fork(void);
static void sums_signal(ThreadId tid, Bool begins);
static void sums_fault(void);
static Bool sums_forked(void);
static void sums_inherit(Bool begins);
static void sums_asked(void);
static void sums_exec(void);
static void sums_marked(ThreadId tid);
static void sums_stack_moved(Addr before, Addr behind, const ULong *above, UInt numbers);
static void sums_first_stack(Addr stack);
static Bool in_areas(Addr a);

#include "room.h"
#include "check.h"
#include "events.h"
#include "files.h"
#include "calls.h"
#include "written.h"
#include "part.h"
#include "allocations.h"
#include "sums_wire.h"
#include "sums_memory.h"
#include "sums_flows.h"
#include "sums_calls.h"
#include "sums_readers.h"
#include "sums_saves.h"
#include "sums_stacks.h"
#include "sums_code.h"
#include "sums_translate.h"
#include "sums_shared.h"
#include "sums.h"
#include "sums_numbers.h"

/* No stream of steps is written beside the sums. */
static Bool stepless = False;

/* ---- instrumentation ---- */

/* A temporary as another one plus a constant. */
typedef struct {
    IRTemp base;
    ULong offset;
} Sum;

typedef struct {
    IRTemp base;
    ULong offset;
} Field;

typedef struct {
    IRSB *out;
    IRType word;
    IREndness end;
    Sum *sums;
    IRTemp at; /* where the run begins in the buffer */
    UInt instructions, bytes_length, bytes_room, accesses, fields, instruction_room, access_room, field_room;
    UInt before_room, sizes_room, fields_before_room;
    ULong *address;
    UInt *accesses_before, *fields_before;
    UChar *sizes, *bytes;
    addfg_access *access;
    Field *field;
    /* What comes of the stack pointer by adding and subtracting, by temporary, or of the frame's; what it was before it got
     * something else, and the word for that. */
    UChar *of_stack;
    IRTemp stack_before;
    Int stack_at, frame_at;
    /* Stores of the statement that is being done, with --check. */
    UInt stores;
    Bool done; /* it is: what it loads may have changed */
    struct { IRExpr *address, *guard; UInt size; } store[4];
    Sums of_sums;
    /* Where paths leave: the statement that has their number, and the counts. */
    UInt exits, exit_room;
    struct { IRConst *number; UInt instructions, accesses, fields; } *exit;
} Making;

static void add(Making *m, IRStmt *s) { addStmtToIRSB(m->out, s); }

static IRTemp assign(Making *m, IRType type, IRExpr *e)
{
    IRTemp t = newIRTemp(m->out->tyenv, type);
    add(m, IRStmt_WrTmp(t, e));
    return t;
}

static IRExpr *word(Making *m, ULong v)
{
    return m->word == Ity_I64 ? IRExpr_Const(IRConst_U64(v)) : IRExpr_Const(IRConst_U32((UInt)v));
}

static IRExpr *plus(Making *m, IRTemp t, ULong offset)
{
    IROp op = m->word == Ity_I64 ? Iop_Add64 : Iop_Add32;
    return IRExpr_RdTmp(assign(m, m->word, IRExpr_Binop(op, IRExpr_RdTmp(t), word(m, offset))));
}

static Bool sum_of(Making *m, IRExpr *e, IRTemp *base, ULong *offset)
{
    if (e->tag != Iex_RdTmp) return False;
    Sum *s = m->sums + e->Iex.RdTmp.tmp;
    *base = s->base == IRTemp_INVALID ? e->Iex.RdTmp.tmp : s->base;
    *offset = s->base == IRTemp_INVALID ? 0 : s->offset;
    return True;
}

static Bool constant_of(IRExpr *e, ULong *value)
{
    if (e->tag != Iex_Const) return False;
    IRConst *c = e->Iex.Const.con;
    if (c->tag == Ico_U64) *value = c->Ico.U64;
    else if (c->tag == Ico_U32) *value = c->Ico.U32;
    else return False;
    return True;
}

/* Notes what a temporary is, if that is another one plus a constant. */
static void note_sum(Making *m, IRTemp t, IRExpr *e)
{
    Sum *s = m->sums + t;
    s->base = IRTemp_INVALID;
    s->offset = 0;
    ULong c;
    if (e->tag == Iex_RdTmp) {
        sum_of(m, e, &s->base, &s->offset);
    } else if (e->tag == Iex_Binop) {
        IROp op = e->Iex.Binop.op;
        IRExpr *a = e->Iex.Binop.arg1, *b = e->Iex.Binop.arg2;
        Bool is_add = op == Iop_Add64 || op == Iop_Add32, is_sub = op == Iop_Sub64 || op == Iop_Sub32;
        if ((op == Iop_Add32 || op == Iop_Sub32) && m->word == Ity_I64) return;
        if ((is_add || is_sub) && constant_of(b, &c) && sum_of(m, a, &s->base, &s->offset))
            s->offset += is_add ? c : -c;
        else if (is_add && constant_of(a, &c) && sum_of(m, b, &s->base, &s->offset))
            s->offset += c;
    }
}

static Bool is_of_stack(const Making *m, const IRExpr *e) { return e->tag == Iex_RdTmp && m->of_stack[e->Iex.RdTmp.tmp]; }

/* Notes whether a temporary comes of the stack pointer. */
static void note_of_stack(Making *m, IRTemp t, const IRExpr *e)
{
    Bool is = is_of_stack(m, e);
    if (e->tag == Iex_Get) is = e->Iex.Get.offset == m->stack_at || e->Iex.Get.offset == m->frame_at;
    if (e->tag == Iex_Binop) is = is_of_stack(m, e->Iex.Binop.arg1) || is_of_stack(m, e->Iex.Binop.arg2);
    m->of_stack[t] = is;
}

/* The process has memory that sums only reserve, some terabytes: to lock all would make it real. So `mlockall` is `munlockall`. */
static void lock_nothing(Making *m)
{
#if defined(VGA_amd64)
    if (!summing || m->out->jumpkind != Ijk_Sys_syscall) return;
    Int at = offsetof(VexGuestAMD64State, guest_RAX);
    IRTemp number = assign(m, Ity_I64, IRExpr_Get(at, Ity_I64));
    IRExpr *locks = IRExpr_Binop(Iop_CmpEQ64, IRExpr_RdTmp(number), IRExpr_Const(IRConst_U64(__NR_mlockall)));
    IRTemp is = assign(m, Ity_I1, locks);
    IRExpr *other = IRExpr_ITE(IRExpr_RdTmp(is), IRExpr_Const(IRConst_U64(__NR_munlockall)), IRExpr_RdTmp(number));
    add(m, IRStmt_Put(at, IRExpr_RdTmp(assign(m, Ity_I64, other))));
#endif
}

/* Before the stack pointer gets something else than that. */
static void watch_stack(Making *m, const IRStmt *s)
{
    if (s->Ist.Put.offset != m->stack_at || is_of_stack(m, s->Ist.Put.data) || m->stack_before != IRTemp_INVALID) return;
    m->stack_before = assign(m, m->word, IRExpr_Get(m->stack_at, m->word));
}

/* Words above the stack pointer among which return addresses are looked for. */
#define LOOKED_AT 256

/* Whether a call may stand before an address (x86-64: `call` with a distance, or by a register or memory). */
static Bool follows_call(Addr a)
{
    const NSegment *s = VG_(am_find_nsegment)(a);
    if (!s || !s->hasX || !s->hasR || a - s->start < 7) return False;
    const UChar *code = (const UChar *)a;
    Bool is_call = code[-5] == 0xe8;
    for (Int n = 2; n <= 7; n++) is_call |= code[-n] == 0xff && (code[1 - n] & 0x38) == 0x10;
    return is_call;
}

/* The return addresses that stand next above a stack pointer, each with where: gives how many numbers these are. */
static UInt returns_above(Addr pointer, ULong *out)
{
    const NSegment *s = VG_(am_find_nsegment)(pointer);
    UInt n = 0;
    if (!s || !s->hasR || pointer % sizeof(Addr)) return 0;
    for (UInt i = 0; i < LOOKED_AT && n < 2 * RETURNS_ABOVE && pointer + (i + 1) * sizeof(Addr) - 1 <= s->end; i++) {
        Addr at = pointer + i * sizeof(Addr), to = *(const Addr *)at;
        if (!follows_call(to)) continue;
        out[n++] = at;
        out[n++] = to;
    }
    return n;
}

/* Frames are no longer where they were; what a function has aligned is nothing new. */
static VG_REGPARM(2) void stack_moved(UWord before, UWord behind)
{
    ULong numbers[2 + 2 * RETURNS_ABOVE] = { before, behind };
    UInt n = returns_above(behind, numbers + 2);
    sums_stack_moved(before, behind, numbers + 2, n);
    event(ADDFG_STACK_POINTER, 2 + n, numbers, NULL);
}

#define ALIGNED 256

/* Behind the last instruction of a block that has given the stack pointer another value. */
static void stack_moved_here(Making *m)
{
    IRTemp behind = assign(m, m->word, IRExpr_Get(m->stack_at, m->word));
    Bool wide = m->word == Ity_I64;
    IRExpr *by = IRExpr_Binop(wide ? Iop_Sub64 : Iop_Sub32, IRExpr_RdTmp(behind), IRExpr_RdTmp(m->stack_before));
    IRTemp far = assign(m, m->word, by);
    IRTemp moved = assign(m, Ity_I1, IRExpr_Binop(wide ? Iop_CmpLT64U : Iop_CmpLT32U, word(m, ALIGNED), IRExpr_RdTmp(far)));
    IRExpr **args = mkIRExprVec_2(IRExpr_RdTmp(m->stack_before), IRExpr_RdTmp(behind));
    IRDirty *d = unsafeIRDirty_0_N(2, "stack_moved", VG_(fnptr_to_fnentry)(&stack_moved), args);
    d->guard = IRExpr_RdTmp(moved);
    add(m, IRStmt_Dirty(d));
}

static void store_field(Making *m, IRExpr *value)
{
    if (m->word == Ity_I32) value = IRExpr_RdTmp(assign(m, Ity_I64, IRExpr_Unop(Iop_32Uto64, value)));
    add(m, IRStmt_Store(m->end, plus(m, m->at, 4 + 8ULL * m->fields), value));
    m->fields++;
}

/* An access by the instruction that is being translated. `guard`: done only if true; NULL: always. */
static void note_access(Making *m, Bool is_write, IRExpr *address, UInt size, IRExpr *guard)
{
    if (summing) sums_access(&m->of_sums, is_write, address, size, guard);
    if (stepless) return;
    ROOM(m->access, m->accesses, m->access_room);
    addfg_access *a = m->access + m->accesses;
    VG_(memset)(a, 0, sizeof *a);
    a->instruction = m->instructions - 1;
    a->size = size;
    a->is_write = is_write;
    IRTemp base = IRTemp_INVALID;
    ULong offset = 0, value;
    UInt before = m->fields;
    ROOM(m->field, before, m->field_room);
    m->field[before].base = IRTemp_INVALID;
    if (guard) {
        a->from = ADDFG_OPTIONAL;
        IRExpr *e = IRExpr_ITE(guard, address, word(m, ~0ULL));
        IRTemp t = assign(m, m->word, e);
        IRExpr *field = IRExpr_RdTmp(t);
        if (m->word == Ity_I32) {
            /* All ones in 64 bits where it was not done. */
            IRTemp wide = assign(m, Ity_I64, IRExpr_Unop(Iop_32Uto64, address));
            field = IRExpr_RdTmp(assign(m, Ity_I64, IRExpr_ITE(guard, IRExpr_RdTmp(wide), IRExpr_Const(IRConst_U64(~0ULL)))));
            add(m, IRStmt_Store(m->end, plus(m, m->at, 4 + 8ULL * m->fields), field));
            m->fields++;
        } else {
            store_field(m, field);
        }
    } else if (constant_of(address, &value)) {
        a->from = ADDFG_CONSTANT;
        a->value = value;
    } else {
        Bool known = sum_of(m, address, &base, &offset);
        UInt k = 0;
        while (known && k < before && m->field[k].base != base) k++;
        if (known && k < before) {
            a->from = ADDFG_SAME;
            a->field = k;
            a->value = offset - m->field[k].offset;
        } else {
            a->from = ADDFG_FIELD;
            if (known) {
                m->field[before].base = base;
                m->field[before].offset = offset;
            }
            store_field(m, address);
        }
    }
    m->accesses++;
    if (!checking) return;
    if (!is_write) {
        if (!m->done) check_before(m->out, address, size, m->address[m->instructions - 1], guard);
        return;
    }
    tl_assert(m->stores < 4);
    m->store[m->stores].address = address;
    m->store[m->stores].guard = guard;
    m->store[m->stores++].size = size;
}

static void stores_done(Making *m)
{
    for (UInt i = 0; i < m->stores; i++) check_behind(m->out, m->store[i].address, m->store[i].size, m->store[i].guard);
    m->stores = 0;
}

/* The path from the block's beginning to here is what ran, if it is left now. */
static void may_leave(Making *m)
{
    if (stepless) return;
    ROOM(m->exit, m->exits, m->exit_room);
    IRConst *number = IRConst_U32(0);
    m->exit[m->exits].number = number;
    m->exit[m->exits].instructions = m->instructions;
    m->exit[m->exits].accesses = m->accesses;
    m->exit[m->exits].fields = m->fields;
    m->exits++;
    add(m, IRStmt_Store(m->end, IRExpr_RdTmp(m->at), IRExpr_Const(number)));
    add(m, IRStmt_Store(m->end, word(m, (ULong)(Addr)&cursor), plus(m, m->at, 4 + 8ULL * m->fields)));
}

static void first_instruction(Making *m)
{
    /* A full buffer is packed first. */
    IRTemp t = assign(m, m->word, IRExpr_Load(m->end, m->word, word(m, (ULong)(Addr)&cursor)));
    IROp less = m->word == Ity_I64 ? Iop_CmpLT64U : Iop_CmpLT32U;
    IRTemp full = assign(m, Ity_I1, IRExpr_Binop(less, word(m, (ULong)(Addr)buffer + BUFFER), IRExpr_RdTmp(t)));
    IRDirty *d = unsafeIRDirty_0_N(0, "buffer_full", VG_(fnptr_to_fnentry)(&buffer_full), mkIRExprVec_0());
    d->guard = IRExpr_RdTmp(full);
    add(m, IRStmt_Dirty(d));
    m->at = assign(m, m->word, IRExpr_Load(m->end, m->word, word(m, (ULong)(Addr)&cursor)));
    /* For a signal that comes in the middle: which block is running. */
    add(m, IRStmt_Store(m->end, word(m, (ULong)(Addr)&begun), IRExpr_RdTmp(m->at)));
    add(m, IRStmt_Store(m->end, word(m, (ULong)(Addr)&begun_block), IRExpr_Const(IRConst_U32(block_count))));
}

static void instruction(Making *m, Addr address, UInt size)
{
    if (!m->instructions && !stepless) first_instruction(m);
    UInt i = m->instructions++;
    ROOM(m->address, i, m->instruction_room);
    ROOM(m->accesses_before, i, m->before_room);
    ROOM(m->fields_before, i, m->fields_before_room);
    ROOM(m->sizes, i, m->sizes_room);
    ROOM(m->bytes, m->bytes_length + size, m->bytes_room);
    m->address[i] = address;
    m->accesses_before[i] = m->accesses;
    m->fields_before[i] = m->fields;
    m->sizes[i] = (UChar)size;
    VG_(memcpy)(m->bytes + m->bytes_length, (const UChar *)address, size);
    m->bytes_length += size;
}

/* Longer than any: a request to valgrind, which is several instructions that do nothing. */
#define LONGEST 15
#define OF_REQUEST 4

static void instructions(Making *m, IRStmt *s)
{
    Addr address = s->Ist.IMark.addr;
    UInt left = s->Ist.IMark.len;
    /* What Valgrind cannot decode: the program gets a signal instead of it. */
    if (!left) return;
    Bool request = left > LONGEST;
    for (; request && left > OF_REQUEST; left -= OF_REQUEST, address += OF_REQUEST)
        instruction(m, address, OF_REQUEST);
    instruction(m, address, left);
}

/* What it loads is checked before it stores. */
static void check_swap(Making *m, IRCAS *cas)
{
    UInt size = sizeofIRType(typeOfIRExpr(m->out->tyenv, cas->dataLo)) * (cas->dataHi ? 2 : 1);
    check_before(m->out, cas->addr, size, m->address[m->instructions - 1], NULL);
}

static void compare_and_swap(Making *m, IRCAS *cas, Bool loaded)
{
    IRType type = typeOfIRExpr(m->out->tyenv, cas->dataLo);
    UInt size = sizeofIRType(type) * (cas->dataHi ? 2 : 1);
    if (!loaded) note_access(m, False, cas->addr, size, NULL);
    if (cas->dataHi) {
        note_access(m, True, cas->addr, size, NULL);
        return;
    }
    IROp same = type == Ity_I8 ? Iop_CasCmpEQ8 : type == Ity_I16 ? Iop_CasCmpEQ16 : type == Ity_I32 ? Iop_CasCmpEQ32 : Iop_CasCmpEQ64;
    IRTemp done = assign(m, Ity_I1, IRExpr_Binop(same, IRExpr_RdTmp(cas->oldLo), cas->expdLo));
    note_access(m, True, cas->addr, size, IRExpr_RdTmp(done));
}

static void accesses(Making *m, IRStmt *s)
{
    IRTypeEnv *env = m->out->tyenv;
    switch (s->tag) {
    case Ist_WrTmp: {
        IRExpr *e = s->Ist.WrTmp.data;
        if (e->tag == Iex_Load) note_access(m, False, e->Iex.Load.addr, sizeofIRType(e->Iex.Load.ty), NULL);
        break;
    }
    case Ist_Store:
        note_access(m, True, s->Ist.Store.addr, sizeofIRType(typeOfIRExpr(env, s->Ist.Store.data)), NULL);
        break;
    case Ist_StoreG: {
        IRStoreG *g = s->Ist.StoreG.details;
        note_access(m, True, g->addr, sizeofIRType(typeOfIRExpr(env, g->data)), g->guard);
        break;
    }
    case Ist_LoadG: {
        IRLoadG *g = s->Ist.LoadG.details;
        IRType type = Ity_INVALID, loaded = Ity_INVALID;
        typeOfIRLoadGOp(g->cvt, &type, &loaded);
        note_access(m, False, g->addr, sizeofIRType(loaded), g->guard);
        break;
    }
    case Ist_Dirty: {
        IRDirty *d = s->Ist.Dirty.details;
        Bool certain = d->guard->tag == Iex_Const && d->guard->Iex.Const.con->tag == Ico_U1 && d->guard->Iex.Const.con->Ico.U1;
        if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify) note_access(m, False, d->mAddr, d->mSize, certain ? NULL : d->guard);
        if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify) note_access(m, True, d->mAddr, d->mSize, certain ? NULL : d->guard);
        break;
    }
    case Ist_LLSC: {
        IRTemp result = s->Ist.LLSC.result;
        if (!s->Ist.LLSC.storedata)
            note_access(m, False, s->Ist.LLSC.addr, sizeofIRType(typeOfIRTemp(env, result)), NULL);
        else
            note_access(m, True, s->Ist.LLSC.addr, sizeofIRType(typeOfIRExpr(env, s->Ist.LLSC.storedata)), IRExpr_RdTmp(result));
        break;
    }
    default:
        break;
    }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                        const VexArchInfo *archinfo, IRType guest, IRType host)
{
    if (guest != host) VG_(tool_panic)("host and guest words differ");
    Making m = { 0 };
    m.out = deepCopyIRSBExceptStmts(in);
    hooks(m.out, layout, closure->nraddr);
    if (!in_part) {
        for (Int i = 0; i < in->stmts_used; i++) add(&m, in->stmts[i]);
        lock_nothing(&m);
        return m.out;
    }
    asked_here(m.out, layout, closure->nraddr);
    m.word = guest;
    m.end = archinfo->endness == VexEndnessBE ? Iend_BE : Iend_LE;
    m.sums = VG_(calloc)("addfg.sums", in->tyenv->types_used + 1, sizeof *m.sums);
    for (Int i = 0; i < in->tyenv->types_used; i++) m.sums[i].base = IRTemp_INVALID;
    m.of_stack = VG_(calloc)("addfg.of_stack", in->tyenv->types_used + 1, 1);
    m.stack_before = IRTemp_INVALID;
    m.stack_at = layout->offset_SP;
    m.frame_at = layout->offset_FP;
    m.of_sums.out = m.out;
    if (summing) scan(&m.of_sums, in);
    Int i = 0;
    while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark) add(&m, in->stmts[i++]);
    for (; i < in->stmts_used; i++) {
        IRStmt *s = in->stmts[i];
        if (!s || s->tag == Ist_NoOp) continue;
        if (s->tag == Ist_IMark) {
            UInt before = m.instructions;
            instructions(&m, s);
            add(&m, s);
            for (; summing && before < m.instructions; before++) sums_instruction(&m.of_sums);
            continue;
        }
        if (s->tag == Ist_WrTmp) note_sum(&m, s->Ist.WrTmp.tmp, s->Ist.WrTmp.data);
        if (s->tag == Ist_WrTmp) note_of_stack(&m, s->Ist.WrTmp.tmp, s->Ist.WrTmp.data);
        if (s->tag == Ist_Put) watch_stack(&m, s);
        if (s->tag == Ist_Exit) may_leave(&m);
        if (summing && s->tag == Ist_Exit) sums_exit(&m.of_sums, s, i);
        Bool after = s->tag == Ist_CAS || s->tag == Ist_LLSC;
        if (checking && s->tag == Ist_CAS) check_swap(&m, s->Ist.CAS.details);
        /* Before the access: it may fault, and its address may be what it loads over. */
        if (!after) accesses(&m, s);
        add(&m, s);
        if (summing && s->tag == Ist_Exit) sums_behind(&m.of_sums, i);
        m.done = True;
        if (s->tag == Ist_CAS) compare_and_swap(&m, s->Ist.CAS.details, is_loaded_before(in, i));
        else if (after) accesses(&m, s);
        stores_done(&m);
        m.done = False;
    }
    if (summing) sums_done(&m.of_sums);
    if (m.instructions && !stepless) may_leave(&m);
    if (m.instructions && m.stack_before != IRTemp_INVALID) stack_moved_here(&m);
    if (m.instructions && !stepless) {
        if (in->jumpkind == Ijk_Ret) given_here(m.out, layout, m.end);
        UInt number = addfg_block(&stream, m.instructions, m.address, m.sizes, m.bytes, m.accesses, m.access);
        ROOM(blocks, block_count, block_room);
        Block *b = blocks + block_count++;
        b->number = number;
        b->instructions = m.instructions;
        b->address = m.address;
        b->accesses_before = m.accesses_before;
        b->fields_before = m.fields_before;
        b->fields = m.fields;
        UInt last = ~0u, path = 0;
        for (UInt k = 0; k < m.exits; k++) {
            /* Two exits of the same instruction behind the same accesses are one path. */
            Bool same = last != ~0u && m.exit[last].instructions == m.exit[k].instructions && m.exit[last].accesses == m.exit[k].accesses;
            if (!same) path = addfg_path(&stream, number, m.exit[k].instructions, m.exit[k].accesses, m.exit[k].fields);
            last = k;
            m.exit[k].number->Ico.U32 = path;
        }
        b->whole = path;
    }
    VG_(free)(m.sums);
    VG_(free)(m.of_stack);
    if (m.sizes) VG_(free)(m.sizes);
    if (m.bytes) VG_(free)(m.bytes);
    lock_nothing(&m);
    if (m.access) VG_(free)(m.access);
    if (m.field) VG_(free)(m.field);
    if (m.exit) VG_(free)(m.exit);
    return m.out;
}

/* ---- begin and end ---- */

static Bool option(const HChar *arg)
{
    if (VG_STR_CLO(arg, "--stream", stream_name)) return True;
    if (VG_INT_CLO(arg, "--stream-fd", given_fd)) return True;
    if (VG_INT_CLO(arg, "--sums-fd", sums_fd)) return True;
    if (VG_STR_CLO(arg, "--sums-at", sums_at)) return True;
    if (VG_BINT_CLO(arg, "--sums-numbers", numbers, 16, NUMBERS)) return True;
    if (VG_BOOL_CLO(arg, "--stepless", stepless)) return True;
    if (VG_BOOL_CLO(arg, "--unique", counts_unique)) return True;
    if (VG_BOOL_CLO(arg, "--snapshots", at_markers)) return True;
    if (VG_STR_CLO(arg, "--stream-each", each_name)) return True;
    if (VG_STR_CLO(arg, "--said", said_name)) return True;
    if (VG_BOOL_CLO(arg, "--check", checking)) return True;
    const HChar *allocator;
    if (!VG_STR_CLO(arg, "--allocator", allocator)) return part_option(arg);
    allocator_option(allocator);
    return True;
}

static void usage(void)
{
    VG_(printf)("    --stream=FILE    where the recording goes [addfg.stream]\n");
    VG_(printf)("    --stream-fd=N    an open descriptor for it, which the program does not have\n");
    VG_(printf)("    --stream-each=PATH  with --trace-children=yes: a stream for each process, PATH.1 and so on\n");
    VG_(printf)("    --sums-fd=N      a socket to who takes sums of data flow (docs/sums.md)\n");
    VG_(printf)("    --sums-at=PATH   with --trace-children=yes: the socket that each process connects to for that\n");
    VG_(printf)("    --stepless=yes   with it: the stream has no steps\n");
    VG_(printf)("    --unique=no      with it: unique bytes and addresses are not counted\n");
    VG_(printf)("    --snapshots=yes  with it: the sums are sent at each marker of the program, too\n");
    VG_(printf)("    --said=FILE      valgrind's messages are added to it [standard error]\n");
    VG_(printf)("    --allocator=NAME=FUNCTION  NAME is another malloc, free or the like\n");
    VG_(printf)("    --check=yes      says where memory changed without the stream saying so; slow\n");
    VG_(printf)("    --from=FUNCTION  record from its first call\n");
    VG_(printf)("    --until=FUNCTION record until its first call in the part returns\n");
    VG_(printf)("    --marked=yes     record what the program marks (addfg_mark.h)\n");
}

static void debug_usage(void) { VG_(printf)("    (none)\n"); }

#if defined(VGA_amd64)
#define MACHINE 62
#define BITS 64
#elif defined(VGA_x86)
#define MACHINE 3
#define BITS 32
#elif defined(VGA_arm64)
#define MACHINE 183
#define BITS 64
#elif defined(VGA_arm)
#define MACHINE 40
#define BITS 32
#else
#error "this instruction set is none of addfg's"
#endif

/* valgrind's own --log-file leaves a descriptor in the program, and empties the file for each process. */
static void say_there(void)
{
    Int fd = said_name ? VG_(fd_open)(said_name, VKI_O_WRONLY | VKI_O_APPEND, 0) : -1;
    if (fd >= 0) VG_(log_output_sink) = VG_(safe_fd)(fd);
}

static void begin(void)
{
    say_there();
    if (!stream_name) stream_name = each_name ? each_name : "addfg.stream";
    Int fd = given_fd;
    if (each_name) fd = open_own();
    else if (fd < 0) fd = VG_(fd_open)(stream_name, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, 0644);
    if (fd < 0) VG_(fmsg_bad_option)("--stream", "%s cannot be written\n", stream_name);
    /* Away from the numbers that the program uses, and closed on exec. */
    stream_fd = VG_(safe_fd)(fd);
    recording = True;
    first_part();
    check_begin();
    sums_begin();
    /* What was before a part is not known. */
    addfg_begin_telling(&stream, write_all, NULL, MACHINE, BITS, in_part ? ADDFG_TELLS_ALL : 0);
    new_process();
}

static void end(Int code)
{
    check_end();
    sums_end();
    if (!recording) return;
    no_part();
    flush_buffer();
    if (recording) addfg_end(&stream, code);
    VG_(close)(stream_fd);
}

static void pre_options(void)
{
    VG_(details_name)("addfg");
    VG_(details_version)("1");
    VG_(details_description)("records instructions, accesses and events for addfg");
    VG_(details_copyright_author)("Copyright the addfg authors, GPL-2.0-or-later.");
    VG_(details_bug_reports_to)("addfg");
    VG_(details_avg_translation_sizeB)(400);
    /* Else a load is left out whose register the next instructions overwrite: a program reads a flag, and forgets it. */
    VG_(clo_vex_control).iropt_register_updates_default = VG_(clo_px_file_backed) = VexRegUpdAllregsAtEachInsn;
    VG_(basic_tool_funcs)(begin, instrument, end);
    VG_(needs_command_line_options)(option, usage, debug_usage);
    VG_(needs_client_requests)(client_request);
    VG_(needs_syscall_wrapper)(pre_syscall, post_syscall);
    VG_(track_start_client_code)(start_client_code);
    VG_(track_pre_thread_ll_create)(pre_thread_create);
    VG_(track_pre_thread_ll_exit)(pre_thread_exit);
    VG_(track_new_mem_stack_signal)(check_frame);
    VG_(track_pre_deliver_signal)(pre_deliver_signal);
    VG_(track_post_deliver_signal)(post_deliver_signal);
    VG_(track_new_mem_startup)(new_mem);
    VG_(track_new_mem_mmap)(new_mem);
    VG_(track_change_mem_mprotect)(changed_mem);
    VG_(track_copy_mem_remap)(copied_mem);
    VG_(track_die_mem_munmap)(gone_mem);
    VG_(track_new_mem_brk)(new_brk);
    VG_(track_die_mem_brk)(gone_mem);
    VG_(track_pre_mem_read)(kernel_reads);
    VG_(track_pre_mem_read_asciiz)(kernel_reads_text);
    VG_(track_post_mem_write)(kernel_writes);
    VG_(atfork)(before_fork, NULL, forked);
    cursor = (ULong)(Addr)buffer;
}

VG_DETERMINE_INTERFACE_VERSION(pre_options)
