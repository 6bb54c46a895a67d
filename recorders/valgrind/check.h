/* --check=yes: holds the recording to memory. Each byte that is loaded has to be what was last
 * stored there or delivered by the kernel, as the stream tells it: what differs was changed by
 * something that it does not tell. Slow. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */
#include "pub_tool_hashtable.h"

#define CHECK_PAGE 4096
/* Differences that are printed; all are counted. */
#define CHECK_SAID 20

typedef struct {
    VgHashNode node; /* its key: the page's number */
    UChar bytes[CHECK_PAGE], known[CHECK_PAGE];
} CheckPage;

static Bool checking = False;
/* Files in memory (files.h). */
static Bool is_shared_memory(Addr address);
/* Whether a call of another thread, that has not returned, may write there (calls.h): it is told when it does. */
static Bool is_awaited(Addr a);
static VgHashTable *check_pages;
static ULong checked, differing;

static CheckPage *check_page(Addr address)
{
    UWord number = address / CHECK_PAGE;
    CheckPage *page = VG_(HT_lookup)(check_pages, number);
    if (!page) {
        page = VG_(calloc)("addfg.check", 1, sizeof *page);
        page->node.key = number;
        VG_(HT_add_node)(check_pages, page);
    }
    return page;
}

/* Bytes are as they are now. */
static void check_learn(Addr address, SizeT size)
{
    for (Addr a = address; a < address + size; a++) {
        CheckPage *page = check_page(a);
        page->bytes[a % CHECK_PAGE] = *(const UChar *)a;
        page->known[a % CHECK_PAGE] = True;
    }
}

/* Bytes are something else from here on. */
static void check_forget(Addr address, SizeT size)
{
    for (UWord number = address / CHECK_PAGE; number <= (address + size - 1) / CHECK_PAGE; number++) {
        CheckPage *page = VG_(HT_lookup)(check_pages, number);
        for (UInt i = 0; page && i < CHECK_PAGE; i++)
            if (number * CHECK_PAGE + i - address < size) page->known[i] = False;
    }
}

static void check_mapped(Addr address, SizeT size) { if (checking && size) check_forget(address, size); }

/* A frame of a signal: what valgrind keeps in it for itself is no write of the kernel. What the handler is given is
 * delivered when the frame is made. */
static void check_frame(Addr address, SizeT size, ThreadId tid) { check_mapped(address, size); }

static void check_moved(Addr from, Addr to, SizeT size)
{
    if (!checking || !size) return;
    check_forget(from, size);
    check_learn(to, size);
}

static void check_delivered(Addr address, SizeT size) { if (checking) check_learn(address, size); }

/* ---- called from the program's code ---- */

static VG_REGPARM(3) void check_load(UWord address, UWord size, UWord instruction)
{
    checked++;
    /* It is going to fault. */
    if (!VG_(am_is_valid_for_client)(address, size, VKI_PROT_READ)) return;
    Addr first = 0;
    /* It may have changed at another address. */
    if (is_shared_memory(address)) check_forget(address, size);
    for (Addr a = address; a < address + size; a++) {
        CheckPage *page = check_page(a);
        UInt i = a % CHECK_PAGE;
        if (page->known[i] && page->bytes[i] != *(const UChar *)a && !first && !is_awaited(a)) first = a;
    }
    if (first && differing++ < CHECK_SAID) {
        CheckPage *page = check_page(first);
        VG_(umsg)("addfg: check: byte %#lx is %#x and was %#x: loaded by the instruction at %#lx\n", first,
                  *(const UChar *)first, page->bytes[first % CHECK_PAGE], instruction);
    }
    check_learn(address, size);
}

static VG_REGPARM(2) void check_store(UWord address, UWord size) { check_learn(address, size); }

static void check_call(IRSB *out, IRDirty *d, IRExpr *guard)
{
    if (guard) d->guard = guard;
    addStmtToIRSB(out, IRStmt_Dirty(d));
}

static IRExpr *check_number(ULong n)
{
    return sizeof(Addr) == 8 ? IRExpr_Const(IRConst_U64(n)) : IRExpr_Const(IRConst_U32((UInt)n));
}

/* Before a load. */
static void check_before(IRSB *out, IRExpr *address, UInt size, Addr instruction, IRExpr *guard)
{
    IRExpr **args = mkIRExprVec_3(address, check_number(size), check_number(instruction));
    check_call(out, unsafeIRDirty_0_N(3, "check_load", VG_(fnptr_to_fnentry)(&check_load), args), guard);
}

/* Behind a store. */
static void check_behind(IRSB *out, IRExpr *address, UInt size, IRExpr *guard)
{
    IRExpr **args = mkIRExprVec_2(address, check_number(size));
    check_call(out, unsafeIRDirty_0_N(2, "check_store", VG_(fnptr_to_fnentry)(&check_store), args), guard);
}

static void check_begin(void)
{
    if (checking) check_pages = VG_(HT_construct)("addfg.check");
}

static void check_end(void)
{
    if (checking) VG_(umsg)("addfg: check: %llu loads, %llu differ\n", checked, differing);
}
