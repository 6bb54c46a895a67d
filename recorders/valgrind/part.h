/* A part of the run: from the first call of a function, until the first call of another one returns,
 * or between marks that the program makes (addfg_mark.h). Outside of it nothing but maps, threads and
 * descriptors is recorded, and code runs as it would without a tool. A part of addfg_main.c.
 *
 * What begins or ends a part is done between two blocks: all translations are discarded there,
 * as code that changes itself asks for.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

#include "addfg_mark.h"

static const HChar *from_name, *until_name;
static Bool marked = False;
/* There has been a part. */
static Bool had_part = False;
/* Where the call returns with which the part ends, and its stack pointer; 0: none was made yet. */
static Addr until_return, until_stack;

/* Everything that a program can have code at. */
#define LOWEST 0x1000
#define ALL_CODE (~(SizeT)0 - LOWEST)

static void begin_part(void)
{
    in_part = True;
    if (had_part) event(ADDFG_GAP, 0, NULL, NULL);
    had_part = True;
    current = 0;
}

static void end_part(void)
{
    flush_buffer();
    in_part = False;
}

/* ---- functions; each of these says whether something begins or ends where a block begins ---- */

static VG_REGPARM(1) UWord enter_from(UWord stack)
{
    if (had_part) return 0;
    begin_part();
    start_client_code(VG_(get_running_tid)(), 0);
    return 1;
}

static Addr return_address(UWord stack)
{
    Addr address = 0;
#if defined(VGA_amd64) || defined(VGA_x86)
    address = *(const Addr *)stack;
#elif defined(VGA_arm64)
    VG_(get_shadow_regs_area)(VG_(get_running_tid)(), (UChar *)&address, 0, offsetof(VexGuestArchState, guest_X30), 8);
#elif defined(VGA_arm)
    VG_(get_shadow_regs_area)(VG_(get_running_tid)(), (UChar *)&address, 0, offsetof(VexGuestArchState, guest_R14), 4);
#endif
    return address;
}

static VG_REGPARM(1) UWord enter_until(UWord stack)
{
    if (until_return) return 0;
    until_return = return_address(stack);
    until_stack = stack;
    return 1;
}

static VG_REGPARM(1) UWord leave_until(UWord stack)
{
    /* A call of the same place within has its stack below. */
    if (!in_part || stack < until_stack) return 0;
    end_part();
    return 1;
}

static Bool is_entry(Addr address, const HChar *wanted)
{
    const HChar *name;
    if (!wanted || !VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name)) return False;
    SizeT length = VG_(strlen)(wanted);
    /* A C++ function also by its name without parameters. */
    return VG_(strncmp)(name, wanted, length) == 0 && (name[length] == 0 || name[length] == '(');
}

static void put(IRSB *out, Int offset, ULong value)
{
    Bool wide = sizeof(Addr) == 8;
    addStmtToIRSB(out, IRStmt_Put(offset, IRExpr_Const(wide ? IRConst_U64(value) : IRConst_U32((UInt)value))));
}

/* Leaves for `address` by way of the discard of code, if `call` says so. */
static void ask(IRSB *out, const VexGuestLayout *layout, const HChar *name, void *call, Addr address)
{
    IRType type = sizeof(Addr) == 8 ? Ity_I64 : Ity_I32;
    IRTemp stack = newIRTemp(out->tyenv, type), answer = newIRTemp(out->tyenv, type), yes = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(stack, IRExpr_Get(layout->offset_SP, type)));
    addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_1_N(answer, 1, name, VG_(fnptr_to_fnentry)(call), mkIRExprVec_1(IRExpr_RdTmp(stack)))));
    IRConst *zero = type == Ity_I64 ? IRConst_U64(0) : IRConst_U32(0);
    IROp differ = type == Ity_I64 ? Iop_CmpNE64 : Iop_CmpNE32;
    addStmtToIRSB(out, IRStmt_WrTmp(yes, IRExpr_Binop(differ, IRExpr_RdTmp(answer), IRExpr_Const(zero))));
    put(out, offsetof(VexGuestArchState, guest_CMSTART), LOWEST);
    put(out, offsetof(VexGuestArchState, guest_CMLEN), ALL_CODE);
    IRConst *to = type == Ity_I64 ? IRConst_U64(address) : IRConst_U32((UInt)address);
    addStmtToIRSB(out, IRStmt_Exit(IRExpr_RdTmp(yes), Ijk_InvalICache, to, layout->offset_IP));
}

/* What is to be done before the block at `address`. */
static void hooks(IRSB *out, const VexGuestLayout *layout, Addr address)
{
    if (!in_part && !had_part && is_entry(address, from_name)) ask(out, layout, "enter_from", &enter_from, address);
    if (in_part && !until_return && is_entry(address, until_name)) ask(out, layout, "enter_until", &enter_until, address);
    if (in_part && until_return && address == until_return) ask(out, layout, "leave_until", &leave_until, address);
}

/* ---- marks ---- */

static Bool client_request(ThreadId tid, UWord *args, UWord *result)
{
    if (!VG_IS_TOOL_USERREQ('A', 'F', args[0])) return False;
    *result = 0;
    Bool begins = args[0] == ADDFG_REQUEST_BEGIN, ends = args[0] == ADDFG_REQUEST_END;
    if (args[0] == ADDFG_REQUEST_MARK) {
        EVENT(ADDFG_MARKER, args[1]);
        sums_marked(tid);
    }
    if (!marked || !(begins || ends) || in_part == begins) return True;
    if (begins) begin_part();
    else end_part();
    VG_(discard_translations_safely)(LOWEST, ALL_CODE, "addfg");
    return True;
}

/* ---- options ---- */

static Bool part_option(const HChar *arg)
{
    if (VG_STR_CLO(arg, "--from", from_name)) return True;
    if (VG_STR_CLO(arg, "--until", until_name)) return True;
    if (VG_BOOL_CLO(arg, "--marked", marked)) return True;
    return False;
}

/* The run begins: outside of the part, if one is asked for. */
static void first_part(void) { in_part = had_part = !from_name && !marked; }

static void no_part(void)
{
    if (had_part) {
        if (until_name && !until_return) VG_(umsg)("addfg: %s was not called: the run is recorded to its end\n", until_name);
        return;
    }
    if (from_name) VG_(umsg)("addfg: %s was not called: nothing is recorded\n", from_name);
    else VG_(umsg)("addfg: the program made no ADDFG_BEGIN: nothing is recorded\n");
}
