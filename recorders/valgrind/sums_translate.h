/* Puts the sums into translated code: what each block does is asked of addfg once; what it then does each time
 * is compared with what it did last, and counted. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

typedef struct {
    UInt instruction;
    Bool is_write;
    UInt size;
} Touch;

/* Straight code up to where it can be left. */
typedef struct {
    UInt instruction, touch; /* the first ones */
    UInt instructions, touches;
    /* It begins behind the statement with this number, not at its instruction; -1: it does not. */
    Int behind;
    UInt segments;
    Segment **segment;
    /* Of its operations: by access the site, NULL if there is none. */
    Code *code;
} Straight;

typedef struct {
    UShort offset, size;
    /* Instruction whose load has filled it; -1: it is written when the segment ends. */
    Int loaded;
} RegisterWrite;

typedef struct {
    UInt kind, more, step, mem, size, stack_relative, offset, register_size, fed_bytes, fed_transfers;
    /* Bytes that the segment reads: of what a write leaves, of what a load fills. */
    UInt low_bytes, high_bytes;
} Told;

static ULong bytes_of(const Told *t) { return t->low_bytes | (ULong)t->high_bytes << 32; }

/* What addfg told of a segment, as long as its block is translated. */
typedef struct {
    Segment *segment;
    UInt count;
    Told *told;
    UInt last_step;
    /* Where what the actor that runs has done there is. */
    IRExpr *state;
} Plan;

typedef struct {
    IRSB *out;
    Touch *touch;
    UInt touches, touch_room;
    ULong *address;
    UChar *size;
    UInt instructions, instruction_room, size_room;
    Straight *straight;
    UInt straights, straight_room;
    /* Where we are: numbers of what has been passed. */
    UInt at_instruction, at_touch, at_straight;
    Bool begun;
    /* The plans of the straight code that has begun, and the one that runs. */
    Plan *plan;
    UInt plans, at_plan;
    /* Control has arrived in this function. */
    Bool arrives_done;
    UInt function;
    /* `T.key`, `T.own` and `T.states` of that; NULL: not loaded yet. */
    IRExpr *key, *own, *states;
} Sums;

/* ---- VEX ---- */

static IRTemp sums_assign(Sums *z, IRType type, IRExpr *e)
{
    IRTemp t = newIRTemp(z->out->tyenv, type);
    addStmtToIRSB(z->out, IRStmt_WrTmp(t, e));
    return t;
}

static IRExpr *atom(Sums *z, IRExpr *e) { return IRExpr_RdTmp(sums_assign(z, Ity_I64, e)); }
static IRExpr *number(ULong n) { return IRExpr_Const(IRConst_U64(n)); }
static IRExpr *binop(Sums *z, IROp op, IRExpr *a, IRExpr *b) { return atom(z, IRExpr_Binop(op, a, b)); }
static IRExpr *load64(Sums *z, const void *at) { return atom(z, IRExpr_Load(Iend_LE, Ity_I64, number((ULong)(Addr)at))); }

static IRExpr *half(Sums *z, IRExpr *e) { return IRExpr_RdTmp(sums_assign(z, Ity_I32, e)); }
static IRExpr *load32(Sums *z, const void *at) { return half(z, IRExpr_Load(Iend_LE, Ity_I32, number((ULong)(Addr)at))); }

static void store64(Sums *z, const void *at, IRExpr *value)
{
    addStmtToIRSB(z->out, IRStmt_Store(Iend_LE, number((ULong)(Addr)at), value));
}

/* They change only where control arrives. */
static IRExpr *key(Sums *z) { return z->key ? z->key : (z->key = load64(z, &T.key)); }
static IRExpr *own(Sums *z) { return z->own ? z->own : (z->own = load64(z, &T.own)); }
static IRExpr *states_here(Sums *z) { return z->states ? z->states : (z->states = load64(z, &T.states)); }

static IRExpr *or_to(Sums *z, IRExpr *a, IRExpr *b) { return a ? binop(z, Iop_Or64, a, b) : b; }

static IRExpr *widened(Sums *z, IRType type, IRExpr *e)
{
    IRTemp t = sums_assign(z, type, e);
    IROp op = type == Ity_I16 ? Iop_16Uto64 : Iop_32Uto64;
    return type == Ity_I64 ? IRExpr_RdTmp(t) : atom(z, IRExpr_Unop(op, IRExpr_RdTmp(t)));
}

/* Calls a function if a number is not 0; NULL: always. */
static void call_if(Sums *z, IRExpr *differs, const HChar *name, void *function, Int registers, IRExpr **args)
{
    IRDirty *d = unsafeIRDirty_0_N(registers, name, VG_(fnptr_to_fnentry)(function), args);
    if (differs) {
        IRTemp yes = sums_assign(z, Ity_I1, IRExpr_Binop(Iop_CmpNE64, differs, number(0)));
        d->guard = IRExpr_RdTmp(yes);
    }
    addStmtToIRSB(z->out, IRStmt_Dirty(d));
}

static IRExpr *load_at(Sums *z, IRExpr *address) { return atom(z, IRExpr_Load(Iend_LE, Ity_I64, address)); }

/* What is there in the state of the actor that runs. */
static IRExpr *in_state(Sums *z, const Plan *p, SizeT at)
{
    return at ? binop(z, Iop_Add64, p->state, number(at)) : p->state;
}

static void count_run(Sums *z, const Plan *p)
{
    IRExpr *at = in_state(z, p, offsetof(State, count));
    addStmtToIRSB(z->out, IRStmt_Store(Iend_LE, at, binop(z, Iop_Add64, load_at(z, at), number(1))));
}

/* ---- what a block consists of ---- */

static void touch(Sums *z, Bool is_write, UInt size)
{
    if (!z->instructions) return;
    ROOM(z->touch, z->touches, z->touch_room);
    Touch t = { z->instructions - 1, is_write, size };
    z->touch[z->touches++] = t;
}

/* Whether the instruction of a compare-and-swap has loaded just before what is compared: `lock add` and the like. Each loads once. */
static Bool is_loaded_before(const IRSB *block, Int at)
{
    const IRCAS *cas = block->stmts[at]->Ist.CAS.details;
    if (cas->dataHi) return False;
    Int size = sizeofIRType(typeOfIRExpr(block->tyenv, cas->dataLo));
    while (--at >= 0 && (!block->stmts[at] || block->stmts[at]->tag != Ist_IMark)) {
        const IRStmt *s = block->stmts[at];
        if (!s || s->tag != Ist_WrTmp || s->Ist.WrTmp.data->tag != Iex_Load) continue;
        const IRExpr *load = s->Ist.WrTmp.data;
        if (sizeofIRType(load->Iex.Load.ty) == size && eqIRAtom(load->Iex.Load.addr, cas->addr)) return True;
    }
    return False;
}

/* The same accesses in the same order as `accesses` has them. */
static void touches_of(Sums *z, const IRSB *block, Int at)
{
    IRStmt *s = block->stmts[at];
    const IRTypeEnv *env = block->tyenv;
    IRType type, loaded;
    switch (s->tag) {
    case Ist_WrTmp:
        if (s->Ist.WrTmp.data->tag == Iex_Load) touch(z, False, sizeofIRType(s->Ist.WrTmp.data->Iex.Load.ty));
        break;
    case Ist_Store:
        touch(z, True, sizeofIRType(typeOfIRExpr(env, s->Ist.Store.data)));
        break;
    case Ist_StoreG:
        touch(z, True, sizeofIRType(typeOfIRExpr(env, s->Ist.StoreG.details->data)));
        break;
    case Ist_LoadG:
        typeOfIRLoadGOp(s->Ist.LoadG.details->cvt, &type, &loaded);
        touch(z, False, sizeofIRType(loaded));
        break;
    case Ist_Dirty: {
        IRDirty *d = s->Ist.Dirty.details;
        if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify) touch(z, False, d->mSize);
        if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify) touch(z, True, d->mSize);
        break;
    }
    case Ist_CAS: {
        IRCAS *cas = s->Ist.CAS.details;
        UInt size = sizeofIRType(typeOfIRExpr(env, cas->dataLo)) * (cas->dataHi ? 2 : 1);
        if (!is_loaded_before(block, at)) touch(z, False, size);
        touch(z, True, size);
        break;
    }
    default:
        break;
    }
}

static void add_instruction(Sums *z, Addr address, UInt size)
{
    ROOM(z->address, z->instructions, z->instruction_room);
    ROOM(z->size, z->instructions, z->size_room);
    z->address[z->instructions] = address;
    z->size[z->instructions++] = size;
}

static void add_instructions(Sums *z, IRStmt *s)
{
    Addr address = s->Ist.IMark.addr;
    UInt left = s->Ist.IMark.len;
    if (!left) return;
    for (; s->Ist.IMark.len > 15 && left > 4; left -= 4, address += 4) add_instruction(z, address, 4);
    add_instruction(z, address, left);
}

static void begin_straight(Sums *z, UInt instruction, UInt touch, Int behind)
{
    Straight *last = z->straights ? z->straight + z->straights - 1 : NULL;
    if (last && last->instruction == instruction && last->touch == touch) {
        last->behind = behind;
        return;
    }
    ROOM(z->straight, z->straights, z->straight_room);
    Straight new = { instruction, touch, 0, 0, behind, 0, NULL, NULL };
    z->straight[z->straights++] = new;
}

/* The instruction gets a signal instead. (Behind one that valgrind does otherwise than the processor, `Ijk_EmWarn`, the
 * program goes on with the next one, in another block.) */
static Bool faults(IRJumpKind kind)
{
    switch (kind) {
    case Ijk_SigILL:
    case Ijk_SigTRAP:
    case Ijk_SigSEGV:
    case Ijk_SigBUS:
    case Ijk_SigFPE:
    case Ijk_SigFPE_IntDiv:
    case Ijk_SigFPE_IntOvf:
    case Ijk_EmFail:
        return True;
    default:
        return False;
    }
}

/* Finds where the block is cut. */
static void scan(Sums *z, IRSB *in)
{
    typedef struct { UInt instruction, touch; Int statement; } Exit;
    Exit *exit = NULL;
    UInt exits = 0, room = 0;
    for (Int i = 0; i < in->stmts_used; i++) {
        IRStmt *s = in->stmts[i];
        if (!s) continue;
        if (s->tag == Ist_IMark) add_instructions(z, s);
        else touches_of(z, in, i);
        if (s->tag != Ist_Exit || !z->instructions || faults(s->Ist.Exit.jk)) continue;
        ROOM(exit, exits, room);
        Exit new = { z->instructions, z->touches, i };
        exit[exits++] = new;
    }
    begin_straight(z, 0, 0, -1);
    for (UInt i = 0; i < exits; i++) {
        UInt at = exit[i].instruction, k = exit[i].touch;
        if (at == z->instructions && k == z->touches) continue;
        Bool goes_on = k < z->touches && z->touch[k].instruction + 1 == at;
        Bool had = k > 0 && z->touch[k - 1].instruction + 1 == at;
        if (!goes_on) begin_straight(z, at, k, -1);
        else if (had) problem(ODD_CODE);
        else begin_straight(z, at - 1, k, exit[i].statement);
    }
    for (UInt i = 0; i < z->straights; i++) {
        Straight *s = z->straight + i;
        Bool last = i + 1 == z->straights;
        s->instructions = (last ? z->instructions : s[1].instruction) - s->instruction;
        s->touches = (last ? z->touches : s[1].touch) - s->touch;
    }
    if (exit) VG_(free)(exit);
}

/* ---- what addfg says of it ---- */

static void ask_code(Sums *z, UInt instruction, UInt instructions, UInt touch, UInt touches)
{
    UChar bytes[16];
    say_begin();
    say4(instructions);
    for (UInt i = instruction; i < instruction + instructions; i++) {
        UInt size = z->size[i];
        say8(z->address[i]);
        say4(size);
        VG_(memset)(bytes, 0, sizeof bytes);
        VG_(memcpy)(bytes, (const UChar *)(Addr)z->address[i], size);
        say_bytes(bytes, sizeof bytes);
    }
    say4(touches);
    for (UInt k = touch; k < touch + touches; k++) {
        say4(z->touch[k].instruction - instruction);
        say4(z->touch[k].is_write);
        say4(z->touch[k].size);
    }
    say_end(SAY_CODE);
    hear();
}

static void note_granules(Segment *s, UInt offset, UInt size)
{
    for (UInt g = offset / 8; g <= (offset + size - 1) / 8 && g < GRANULES; g++) {
        UInt i = 0;
        while (i < s->granules && s->granule[i] != g) i++;
        if (i == s->granules) {
            s->granule = VG_(realloc)("addfg.segment", s->granule, (i + 1) * sizeof *s->granule);
            s->bytes = VG_(realloc)("addfg.segment", s->bytes, i + 1);
            s->granule[s->granules++] = g;
            s->bytes[i] = 0;
        }
        s->bytes[i] |= bytes_in(g * 8, offset, offset + size);
    }
}

/* The write of which some bytes are read in its segment, and others not, is one. */
static void join_writes(Told *before, const Told *t)
{
    ULong bytes = bytes_of(before);
    if (before->register_size < 64) bytes |= bytes_of(t) << before->register_size;
    before->low_bytes = bytes;
    before->high_bytes = bytes >> 32;
    before->register_size += t->register_size;
}

static Segment *new_segment(void)
{
    ROOM(segments, segment_count, segment_room);
    Segment *s = VG_(calloc)("addfg.segment", 1, sizeof *s);
    segments[segment_count++] = s;
    s->function = hear4();
    s->stub = hear4() & 1;
    s->entry = hear8();
    s->first_step = hear4();
    s->steps = hear4();
    s->static_bytes = hear4();
    s->static_transfers = hear4();
    s->static_unique = hear4();
    s->stored = hear4();
    s->inside = hear4();
    if (s->inside) s->in = VG_(calloc)("addfg.segment", s->inside, sizeof *s->in);
    for (UInt i = 0; i < s->inside; i++) {
        s->in[i].offset = hear4();
        s->in[i].size = hear4();
    }
    return s;
}

static void refresh_states(void);

/* Makes room for a segment in the actors of its function. */
static void place_segment(Segment *s)
{
    if (s->site_room) s->site = VG_(calloc)("addfg.segment", s->site_room, sizeof *s->site);
    s->length = (sizeof(State) + 3 * s->granules * sizeof(UInt) + 7) & ~7u;
    Function *f = function_of(s->function);
    s->at = f->segments++;
    UInt had = f->segment_room;
    if (s->at < had) return;
    f->segment_room = had * 2 + 16;
    for (Actor *a = f->actors; a; a = a->next) {
        if (!a->state) continue;
        a->state = VG_(realloc)("addfg.states", a->state, (f->segment_room + 1) * sizeof *a->state);
        VG_(memset)(a->state + had, 0, (f->segment_room + 1 - had) * sizeof *a->state);
    }
    refresh_states();
}

static void hear_segment(Plan *p)
{
    Segment *s = p->segment = new_segment();
    p->count = hear4();
    p->told = VG_(calloc)("addfg.plan", p->count + 1, sizeof *p->told);
    p->last_step = s->first_step + s->steps;
    UInt told = p->count;
    p->count = 0;
    for (UInt i = 0; i < told; i++) {
        Told *t = p->told + p->count++, *before = t - 1;
        for (UInt k = 0; k < sizeof *t / sizeof(UInt); k++) ((UInt *)t)[k] = hear4();
        if (t->kind == 1) {
            ULong seen = t->more & 2 ? ~0ULL >> (64 - (t->register_size < 64 ? t->register_size : 64)) : 0;
            t->low_bytes = seen;
            t->high_bytes = seen >> 32;
            t->more &= 1;
        }
        /* One write of which some bytes were read already. */
        if (t->kind == 1 && p->count > 1 && before->kind == 1 && before->step == t->step && before->mem == t->mem
            && before->offset + before->register_size == t->offset) {
            join_writes(before, t);
            p->count--;
            continue;
        }
        if (t->kind == 0) {
            s->read = VG_(realloc)("addfg.segment", s->read, (s->reads + 1) * sizeof *s->read);
            RegisterRead r = { t->offset, t->register_size, t->more == 2 };
            s->read[s->reads++] = r;
            note_granules(s, t->offset, t->register_size);
        } else if (t->kind >= 2) s->site_room++;
    }
    place_segment(s);
}

static void hear_code(Sums *z, Code *code)
{
    code->address = hear8();
    code->next = hear8();
    code->target = hear8();
    code->kind = hear4();
    UInt flags = hear4();
    code->conditional = flags & 1;
    code->repeats = (flags & 2) != 0;
    code->executed = (flags & 4) != 0;
    code->has_target = (flags & 8) != 0;
    code->slot = hear4();
    z->plans = hear4();
    z->plan = VG_(calloc)("addfg.plans", z->plans + 1, sizeof *z->plan);
    for (UInt i = 0; i < z->plans && heard_at < heard_length; i++) hear_segment(z->plan + i);
}

static void forget_plans(Sums *z)
{
    for (UInt i = 0; i < z->plans; i++)
        if (z->plan[i].told) VG_(free)(z->plan[i].told);
    if (z->plan) VG_(free)(z->plan);
    z->plan = NULL;
    z->plans = 0;
}

/* ---- who has read what ---- */

/* What of a granule the instance has not read, among other bits. */
static IRExpr *unread_in(Sums *z, UInt g) { return binop(z, Iop_Xor64, load64(z, T.reader + g), key(z)); }
static IRExpr *of_bytes(Sums *z, IRExpr *unread, UInt bytes) { return binop(z, Iop_And64, unread, number(READER_BITS | bytes)); }

/* The bytes of an access of less than eight, of the eight that it begins in and those behind. */
static IRExpr *bytes_here(Sums *z, IRExpr *low, UInt size)
{
    IRExpr *by = IRExpr_RdTmp(sums_assign(z, Ity_I8, IRExpr_Unop(Iop_64to8, low)));
    return binop(z, Iop_Shl64, number((1u << size) - 1), by);
}

/* Not 0: the instance has not read all that is read there, or it lies so that this is not known here. */
static IRExpr *unread_memory(Sums *z, IRExpr *address, UInt size)
{
    IRExpr *low = binop(z, Iop_And64, address, number(7)), *unread = NULL;
    IRExpr *at = binop(z, Iop_Add64, address, number(READERS_AT));
    if (size < 8) {
        IRExpr *e = binop(z, Iop_Xor64, load_at(z, binop(z, Iop_Sub64, at, low)), key(z));
        return binop(z, Iop_And64, e, binop(z, Iop_Or64, bytes_here(z, low, size), number(READER_BITS)));
    }
    for (UInt k = 0; k < size; k += 8) {
        IRExpr *e = load_at(z, k ? binop(z, Iop_Add64, at, number(k)) : at);
        unread = or_to(z, unread, binop(z, Iop_Xor64, e, key(z)));
    }
    return or_to(z, of_bytes(z, unread, 0xff), low);
}

/* What is stored nobody has read. */
static void store_unread(Sums *z, IRExpr *address, UInt size)
{
    if (!counts_unique) return;
    IRExpr *low = binop(z, Iop_And64, address, number(7)), *across = low;
    IRExpr *at = binop(z, Iop_Add64, address, number(READERS_AT));
    if (size < 8) {
        IRExpr *bytes = bytes_here(z, low, size), *to = binop(z, Iop_Sub64, at, low);
        IRExpr *both = binop(z, Iop_Or64, bytes, binop(z, Iop_Shl64, bytes, IRExpr_Const(IRConst_U8(16))));
        IRExpr *kept = binop(z, Iop_And64, load_at(z, to), binop(z, Iop_Xor64, both, number(~0ULL)));
        addStmtToIRSB(z->out, IRStmt_Store(Iend_LE, to, kept));
        if (size == 1) return;
        across = binop(z, Iop_Shr64, bytes, IRExpr_Const(IRConst_U8(8)));
    } else {
        IRExpr *kept = atom(z, IRExpr_Unop(Iop_CmpwNEZ64, low));
        for (UInt k = 0; k < size; k += 8) {
            IRExpr *to = k ? binop(z, Iop_Add64, at, number(k)) : at;
            addStmtToIRSB(z->out, IRStmt_Store(Iend_LE, to, binop(z, Iop_And64, load_at(z, to), kept)));
        }
    }
    call_if(z, across, "forget_readers", &forget_readers, 2, mkIRExprVec_2(address, number(size)));
}

/* A write of a part of a granule; `seen`: bytes of it that the instance has read already. */
static void write_unread(Sums *z, UInt g, UInt bytes, UInt seen)
{
    if (!counts_unique) return;
    IRExpr *e = binop(z, Iop_And64, load64(z, T.reader + g), number(~(bytes * 0x10001ULL)));
    if (seen) e = binop(z, Iop_Or64, e, number(seen));
    store64(z, T.reader + g, e);
    if (!seen) return;
    IRExpr *other = binop(z, Iop_Shr64, binop(z, Iop_Xor64, e, key(z)), IRExpr_Const(IRConst_U8(32)));
    call_if(z, other, "seen_other", &seen_other, 2, mkIRExprVec_2(number(g), number(seen)));
}

static void write_whole(Sums *z, UInt g, UInt seen)
{
    if (!counts_unique) return;
    IRExpr *e = number(0);
    if (seen) e = binop(z, Iop_Or64, binop(z, Iop_And64, key(z), number(READER_BITS)), number(seen));
    store64(z, T.reader + g, e);
}

/* ---- the code of a segment ---- */

static void arrive_here(Sums *z, const Segment *s, Addr address)
{
    IRExpr *differs = binop(z, Iop_Xor64, load64(z, &T.arrived), number(s->function));
    call_if(z, differs, "arrive", &arrive, 2, mkIRExprVec_2(number((ULong)(Addr)s), number(address)));
}

/* Control is in a segment: whose it is, and what that has done there. */
static void begin_plan(Sums *z, Plan *p, Addr address)
{
    const Segment *s = p->segment;
    if (!z->arrives_done || z->function != s->function) {
        arrive_here(z, s, address);
        z->key = z->own = z->states = NULL;
    }
    z->arrives_done = True;
    z->function = s->function;
    IRExpr *at = binop(z, Iop_Add64, states_here(z), number(s->at * sizeof(State *)));
    IRExpr *known = load_at(z, at);
    IRTemp none = sums_assign(z, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, known, number(0)));
    IRDirty *d = unsafeIRDirty_0_N(1, "begin_state", VG_(fnptr_to_fnentry)(&begin_state), mkIRExprVec_1(number((ULong)(Addr)s)));
    d->guard = IRExpr_RdTmp(none);
    addStmtToIRSB(z->out, IRStmt_Dirty(d));
    p->state = load_at(z, at);
}

static void begin_segment(Sums *z)
{
    Straight *straight = z->straight + z->at_straight;
    Plan *p = z->plan + z->at_plan;
    const Segment *s = p->segment;
    UInt first = straight->instruction + s->first_step;
    begin_plan(z, p, z->address[first]);
    count_run(z, p);
    store64(z, &steps_done, binop(z, Iop_Add64, load64(z, &steps_done), number(s->steps)));
    if (!s->granules) return;
    IRExpr *differs = NULL;
    for (UInt i = 0; i < s->granules; i++) {
        IRExpr *met = half(z, IRExpr_Load(Iend_LE, Ity_I32, in_state(z, p, offsetof(State, met) + i * sizeof(UInt))));
        IRExpr *changed = half(z, IRExpr_Binop(Iop_Xor32, load32(z, &T.tag[s->granule[i]]), met));
        differs = differs ? half(z, IRExpr_Binop(Iop_Or32, differs, changed)) : changed;
    }
    IRExpr *either = atom(z, IRExpr_Unop(Iop_32Uto64, differs));
    /* Those of which the same bytes are read at once. */
    for (UInt i = 0; i < s->granules && counts_unique; i++) {
        IRExpr *unread = NULL;
        UInt before = 0;
        while (before < i && s->bytes[before] != s->bytes[i]) before++;
        for (UInt k = i; before == i && k < s->granules; k++)
            if (s->bytes[k] == s->bytes[i]) unread = or_to(z, unread, unread_in(z, s->granule[k]));
        if (unread) either = or_to(z, either, of_bytes(z, unread, s->bytes[i]));
    }
    call_if(z, either, "registers_met", &registers_met, 1, mkIRExprVec_1(p->state));
}

/* As if the bytes before were written with it, up to the end of eight; it is of a write that has bytes before those. */
#define LIKE_BEFORE (~0u)
#define APART (~1u)

static Bool is_of_write(const Told *t, const Told *of) { return t->kind == 1 && t->step == of->step && t->mem == of->mem; }
static UInt last_of(const Told *t) { return t->offset + t->register_size - 1; }

/* What a part of a write goes on with, as `write_register` takes it: the part of the same write that was told before. */
static UInt like_of(const Plan *p, UInt i)
{
    const Told *t = p->told + i;
    UInt like = 0;
    Bool apart = False;
    for (UInt k = 0; k < i; k++) {
        if (!is_of_write(p->told + k, t)) continue;
        UInt last = last_of(p->told + k);
        apart = True;
        if (last / 8 == t->offset / 8) like = last + 1;
        /* Another write has taken what is between: the last bytes of eight, or the first of the next. */
        else if (last / 8 + 1 == t->offset / 8) like = LIKE_BEFORE;
    }
    return apart && !like ? APART : like;
}

/* Whether another part of the same write, which is told later, goes on with it in the next eight bytes. */
static Bool has_more(const Plan *p, UInt i)
{
    const Told *t = p->told + i;
    for (UInt k = i + 1; k < p->count; k++)
        if (is_of_write(p->told + k, t) && last_of(t) / 8 + 1 == p->told[k].offset / 8) return True;
    return False;
}

/* What is there has bytes before others, which are another write's: who reads both finds two writes. */
static VG_REGPARM(1) void splits_vector(UWord g) { split_from[g] = T.tag[g] & ~(Tag)TAG_BEHIND; }

/* Before eight bytes in the middle of a vector are written: a write may go on from those before in those behind, unless
 * the segment writes these, too. */
static void look_around(Sums *z, const Plan *p, UInt i)
{
    UInt offset = p->told[i].offset, end = last_of(p->told + i) + 1;
    if (offset < 384 || !(offset % 64) || end - offset < 8 || !(end % 64)) return;
    for (UInt k = 0; k < p->count; k++)
        if (p->told[k].kind == 1 && p->told[k].offset <= end && last_of(p->told + k) >= end) return;
    IRExpr *goes_on = binop(z, Iop_And64, load64(z, &T.tag[offset / 8]), load64(z, &T.tag[end / 8]));
    IRExpr *splits = binop(z, Iop_And64, goes_on, number(TAG_BEHIND));
    call_if(z, splits, "splits_vector", &splits_vector, 1, mkIRExprVec_1(number(end / 8)));
}

/* Bytes of a register are the instance's, as the plan tells of them. */
static void write_register(Sums *z, IRExpr *own, const Plan *p, UInt i)
{
    const Told *t = p->told + i;
    /* A byte of the same eight that the same write has written, and 1, or LIKE_BEFORE; 0: none. */
    UInt like = like_of(p, i);
    Bool more = has_more(p, i), apart = like == APART;
    if (apart) like = 0;
    UInt offset = t->offset, end = offset + t->register_size;
    Bool first = True, whole = False;
    if (like != LIKE_BEFORE) look_around(z, p, i);
    for (UInt b = offset; b < end;) {
        UInt g = b / 8, next = (g + 1) * 8 < end ? (g + 1) * 8 : end;
        UInt seen = b - offset < 64 ? (UInt)(bytes_of(t) >> (b - offset)) << (b & 7) & bytes_in(g * 8, b, next) : 0;
        whole = next - b == 8;
        if (whole) {
            write_whole(z, g, seen);
            Bool begins = first && like != LIKE_BEFORE;
            store64(z, &T.tag[g], begins ? own : binop(z, Iop_Or64, own, number(TAG_BEHIND)));
        } else {
            /* Mostly it is so already, of the same instance. */
            UInt flags = (!first || like == LIKE_BEFORE ? FROM_BEFORE : like << LIKE_SHIFT) | (next < end || more ? INTO_NEXT : 0);
            Tag *met = VG_(calloc)("addfg.met", 1, sizeof *met);
            IRExpr *differs = binop(z, Iop_Xor64, load64(z, &T.tag[g]), load64(z, met));
            IRExpr *other = binop(z, Iop_Shr64, binop(z, Iop_Xor64, load64(z, &T.tag[g]), own), IRExpr_Const(IRConst_U8(32)));
            call_if(z, binop(z, Iop_Or64, differs, other), "write_other", &write_other, 3,
                    mkIRExprVec_3(number(b | (ULong)flags), number(next - b), number((ULong)(Addr)met)));
            write_unread(z, g, bytes_in(g * 8, b, next), seen);
        }
        first = False;
        b = next;
    }
    if (apart) call_if(z, NULL, "splits_vector", &splits_vector, 1, mkIRExprVec_1(number(offset / 8)));
    /* What is behind it in a register of x87 or vectors begins a write. */
    if (whole && offset >= 256 && end % (offset >= 384 ? 64 : 16) && end / 8 < GRANULES) {
        IRExpr *mixed = binop(z, Iop_And64, load64(z, &T.tag[end / 8]), number(TAG_MIXED));
        call_if(z, mixed, "begins_here", &begins_here, 1, mkIRExprVec_1(number(end / 8)));
        IRExpr *behind = load64(z, &T.tag[end / 8]);
        store64(z, &T.tag[end / 8], binop(z, Iop_And64, behind, number(~(ULong)TAG_BEHIND)));
    }
}

static void end_segment(Sums *z)
{
    const Plan *p = z->plan + z->at_plan;
    for (UInt i = 0; i < p->count; i++)
        if (p->told[i].kind == 1 && !p->told[i].more) write_register(z, own(z), p, i);
}

static void begin_code(Sums *z)
{
    Straight *s = z->straight + z->at_straight;
    ask_code(z, s->instruction, s->instructions, s->touch, s->touches);
    s->code = VG_(calloc)("addfg.code", 1, sizeof *s->code);
    hear_code(z, s->code);
    z->at_plan = 0;
    z->begun = True;
    if (z->plans) begin_segment(z);
}

static void end_code(Sums *z)
{
    if (!z->begun) return;
    if (z->plans) end_segment(z);
    const Code *code = z->straight[z->at_straight].code;
    if (code->kind == FLOW_CALL || code->kind == FLOW_RETURN || code->kind == FLOW_EXCEPTION_RETURN) {
        store64(z, &T.arrived, number(0));
        store64(z, &T.before, number((ULong)(Addr)code));
    }
    if ((code->kind == FLOW_JUMP && !code->has_target) || code->kind == FLOW_UNKNOWN) store64(z, &T.jumped, load64(z, &steps_done));
    forget_plans(z);
    z->begun = False;
    z->at_straight++;
}

/* An instruction can be left before its accesses: what it is then. */
static void leave_before(Sums *z, IRStmt *exit)
{
    ask_code(z, z->at_instruction - 1, 1, 0, 0);
    Code code;
    hear_code(z, &code);
    if (z->plans) {
        IRExpr *guard = exit->Ist.Exit.guard;
        begin_plan(z, z->plan, z->address[z->at_instruction - 1]);
        IRDirty *d = unsafeIRDirty_0_N(1, "left_there", VG_(fnptr_to_fnentry)(&left_there), mkIRExprVec_1(z->plan[0].state));
        d->guard = guard;
        addStmtToIRSB(z->out, IRStmt_Dirty(d));
    }
    forget_plans(z);
}

/* ---- along the block ---- */

/* An instruction begins. */
static void sums_instruction(Sums *z)
{
    UInt i = z->at_instruction++;
    if (z->begun) {
        Straight *now = z->straight + z->at_straight;
        if (i == now->instruction + now->instructions) end_code(z);
        else if (z->plans && i - now->instruction == z->plan[z->at_plan].last_step && z->at_plan + 1 < z->plans) {
            end_segment(z);
            z->at_plan++;
            begin_segment(z);
        }
    }
    if (!z->begun && z->at_straight < z->straights) {
        const Straight *next = z->straight + z->at_straight;
        if (next->instruction == i && next->behind < 0) begin_code(z);
    }
}

/* Before a statement that may leave the block. */
static void sums_exit(Sums *z, IRStmt *exit, Int statement)
{
    if (!z->at_instruction || faults(exit->Ist.Exit.jk)) return;
    if (z->begun) {
        const Straight *now = z->straight + z->at_straight;
        if (z->at_instruction == now->instruction + now->instructions && z->at_touch == now->touch + now->touches) end_code(z);
        return;
    }
    const Straight *next = z->straight + z->at_straight;
    if (z->at_straight < z->straights && next->behind >= statement) leave_before(z, exit);
}

/* Behind it. */
static void sums_behind(Sums *z, Int statement)
{
    if (z->begun || z->at_straight >= z->straights || z->straight[z->at_straight].behind != statement) return;
    begin_code(z);
}

/* ---- accesses ---- */

static Site *new_site(Segment *s, const Told *t)
{
    Site *site = s->site + s->sites++;
    site->size = t->size;
    site->stack_relative = t->stack_relative;
    site->fed_bytes = t->fed_bytes;
    site->fed_transfers = t->fed_transfers;
    site->fed = t->kind == 2 ? bytes_of(t) : 0;
    site->is_store = t->kind == 3;
    if (t->offset != ~0u) {
        site->offset = t->offset;
        site->register_size = t->register_size;
    }
    site->is_plain_restore = t->kind == 2 && site->size == 8 && site->register_size == 8 && !(site->offset & 7)
        && !site->fed && !site->fed_bytes && !site->fed_transfers;
    site->at = s->length;
    if (site->is_store) s->length += sizeof(Stored);
    else s->length += sizeof(Met) + cells_length(site) + (site->fed ? sizeof(Restores) : 0);
    return site;
}

static IRExpr *cells_of(Sums *z, IRExpr *address)
{
    return binop(z, Iop_Add64, number(CELLS_AT), binop(z, Iop_Shl64, address, IRExpr_Const(IRConst_U8(1))));
}

static IRExpr *offset_by(Sums *z, IRExpr *e, UInt n) { return n ? binop(z, Iop_Add64, e, number(n)) : e; }

static IRType cells_type(UInt bytes) { return bytes == 2 ? Ity_I16 : bytes == 4 ? Ity_I32 : Ity_I64; }

static void sums_load(Sums *z, Plan *p, const Told *t, IRExpr *address, IRExpr *guard)
{
    Site *site = new_site(p->segment, t);
    /* What it loads the register has, unless that is restored. */
    for (UInt i = 0; i < p->count; i++) {
        const Told *w = p->told + i;
        if (w->kind == 1 && w->more && w->step == t->step) write_register(z, own(z), p, i);
    }
    IRExpr **args = mkIRExprVec_3(number((Addr)site), p->state, address);
    if (guard) {
        IRDirty *d = unsafeIRDirty_0_N(3, "load_once", VG_(fnptr_to_fnentry)(&load_once), args);
        d->guard = guard;
        addStmtToIRSB(z->out, IRStmt_Dirty(d));
        return;
    }
    Bool simple = t->size <= 32 && !(t->size & (t->size - 1));
    if (!simple) return call_if(z, NULL, "load_met", &load_met, 3, args);
    IRExpr *cells = cells_of(z, address), *differs = NULL;
    for (UInt at = 0; at < 2 * t->size; at += 8) {
        IRType type = cells_type(2 * t->size);
        IRExpr *now = widened(z, type, IRExpr_Load(Iend_LE, type, offset_by(z, cells, at)));
        IRExpr *met = widened(z, type, IRExpr_Load(Iend_LE, type, in_state(z, p, site->at + offsetof(Met, cells) + at)));
        differs = or_to(z, differs, binop(z, Iop_Xor64, now, met));
    }
    IRExpr *from = binop(z, Iop_Sub64, address, load_at(z, in_state(z, p, site->at + offsetof(Met, low))));
    IRTemp outside = sums_assign(z, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, load_at(z, in_state(z, p, site->at + offsetof(Met, reach))), from));
    IRExpr *either = or_to(z, differs, atom(z, IRExpr_Unop(Iop_1Uto64, IRExpr_RdTmp(outside))));
    if (counts_unique) either = or_to(z, either, unread_memory(z, address, t->size));
    call_if(z, either, "load_met", &load_met, 3, args);
}

static void plain_store(Sums *z, Plan *p, IRExpr *address, UInt size, IRExpr *guard)
{
    Segment *s = p->segment;
    Bool simple = size <= 32 && !(size & (size - 1)) && !guard;
    if (!simple) {
        IRExpr *actor = widened(z, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, in_state(z, p, offsetof(State, actor))));
        IRExpr **args = mkIRExprVec_3(address, number(size), actor);
        if (!guard) return call_if(z, NULL, "store_any", &store_any, 3, args);
        /* Only what was stored was written. */
        s->stored -= size;
        IRDirty *d = unsafeIRDirty_0_N(3, "store_once", VG_(fnptr_to_fnentry)(&store_once), args);
        d->guard = guard;
        addStmtToIRSB(z->out, IRStmt_Dirty(d));
        return;
    }
    IRExpr *cells = cells_of(z, address);
    IRExpr *behind = widened(z, Ity_I16, IRExpr_Load(Iend_LE, Ity_I16, offset_by(z, cells, 2 * size)));
    IRExpr *less = binop(z, Iop_And64, binop(z, Iop_Sub64, behind, number(1)), number(CELL_FIRST));
    IRExpr *splits = binop(z, Iop_Xor64, less, number(CELL_FIRST));
    call_if(z, splits, "store_split", &store_split, 2, mkIRExprVec_2(address, number(size)));
    for (UInt at = 0; at < 2 * size; at += 8) {
        IRType type = cells_type(2 * size);
        IRTemp value = sums_assign(z, type, IRExpr_Load(Iend_LE, type, in_state(z, p, at ? offsetof(State, cells) : offsetof(State, first_cells))));
        addStmtToIRSB(z->out, IRStmt_Store(Iend_LE, offset_by(z, cells, at), IRExpr_RdTmp(value)));
    }
    store_unread(z, address, size);
}

static void sums_store(Sums *z, Plan *p, const Told *t, IRExpr *address, IRExpr *guard)
{
    plain_store(z, p, address, t->size, guard);
    if (t->offset == ~0u) return;
    if (guard) return problem(GUARDED_SAVES);
    Site *site = new_site(p->segment, t);
    IRExpr *differs = NULL;
    for (UInt g = t->offset / 8; g <= (t->offset + t->register_size - 1) / 8; g++) {
        IRExpr *wanted = g == t->offset / 8 ? own(z) : binop(z, Iop_Or64, own(z), number(TAG_BEHIND));
        differs = or_to(z, differs, binop(z, Iop_Xor64, load64(z, &T.tag[g]), wanted));
        UInt bytes = bytes_in(g * 8, t->offset, t->offset + t->register_size);
        if (counts_unique) differs = or_to(z, differs, of_bytes(z, unread_in(z, g), bytes));
    }
    call_if(z, differs, "store_register", &store_register, 3, mkIRExprVec_3(number((Addr)site), p->state, address));
}

/* The next access is made. */
static void sums_access(Sums *z, Bool is_write, IRExpr *address, UInt size, IRExpr *guard)
{
    UInt k = z->at_touch++;
    if (!z->begun || !summing) return;
    IRExpr *above = IRExpr_Const(IRConst_U8(64 - ADDRESS_BITS));
    address = binop(z, Iop_Shr64, binop(z, Iop_Shl64, address, above), above);
    const Straight *now = z->straight + z->at_straight;
    for (UInt n = 0; n < z->plans; n++) {
        Plan *p = z->plan + n;
        for (UInt i = 0; i < p->count; i++) {
            const Told *t = p->told + i;
            if (t->kind < 2 || t->mem != k - now->touch) continue;
            /* The slot of a return address. */
            if (now->code->slot == t->mem) store64(z, &T.slot, address);
            if (t->kind == 2 && t->more) return;
            if (is_write) sums_store(z, p, t, address, guard);
            else sums_load(z, p, t, address, guard);
            return;
        }
    }
}

static void sums_done(Sums *z)
{
    end_code(z);
    /* `code` stays: blocks name it. */
    if (z->touch) VG_(free)(z->touch);
    if (z->address) VG_(free)(z->address);
    if (z->size) VG_(free)(z->size);
    if (z->straight) VG_(free)(z->straight);
}
