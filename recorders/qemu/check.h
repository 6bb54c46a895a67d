/* check=yes: holds the recording to memory. Each byte that is loaded has to be what was last stored there or delivered by the
 * kernel, as the stream tells it: what differs was changed by something that it does not tell. Slow. A part of addfg_qemu.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */
#define CHECK_PAGE 4096
/* Differences that are printed; all are counted. */
#define CHECK_SAID 20

typedef struct CheckPage {
    struct CheckPage *next;
    addfg_u64 number;
    addfg_u8 bytes[CHECK_PAGE], known[CHECK_PAGE];
} CheckPage;

static bool checking;
static CheckPage *check_pages[1 << 14];
static addfg_u64 checked, differing;

/* `makes`: if there is none. */
static CheckPage *check_page(addfg_u64 address, bool makes)
{
    addfg_u64 number = address / CHECK_PAGE;
    CheckPage **at = check_pages + number % COUNT(check_pages), *page = *at;
    while (page && page->number != number) page = page->next;
    if (page || !makes || !(page = calloc(1, sizeof *page))) return page;
    page->number = number;
    page->next = *at;
    return *at = page;
}

/* Bytes are as they are now. `accessed`: they are there. */
static void check_learn(addfg_u64 address, addfg_u64 bytes, bool accessed)
{
    for (addfg_u64 a = address, end = address + bytes; a < end;) {
        unsigned in = a % CHECK_PAGE, size = (unsigned)least(CHECK_PAGE - in, end - a);
        CheckPage *page = check_page(a, true);
        if (!page) return;
        memset(page->known + in, 0, size);
        unsigned there = size;
        if (accessed) memcpy(page->bytes + in, (void *)(uintptr_t)(guest_base + a), size);
        else there = guest_read_some(a, page->bytes + in, size);
        memset(page->known + in, 1, there);
        a += size;
    }
}

/* Bytes are something else from here on. */
static void check_forget(addfg_u64 address, addfg_u64 bytes)
{
    for (addfg_u64 a = address, end = address + bytes; a < end;) {
        unsigned in = a % CHECK_PAGE, size = (unsigned)least(CHECK_PAGE - in, end - a);
        CheckPage *page = check_page(a, false);
        if (page) memset(page->known + in, 0, size);
        a += size;
    }
}

static bool is_shared_memory(addfg_u64 address);

/* A difference that was found, and is none if the same instruction stores there next: QEMU tells of both when it has done both. */
static struct { addfg_u64 instruction, address; addfg_u8 now, was; } found;

static void check_found(void)
{
    if (found.instruction && differing++ < CHECK_SAID)
        say("addfg: check: byte %#llx is %#x and was %#x: loaded by the instruction at %#llx\n", found.address, found.now, found.was, found.instruction);
    found.instruction = 0;
}

/* An access that was made. */
static void check_access(addfg_u64 address, unsigned bytes, bool store, addfg_u64 instruction)
{
    if (bits32) address = (addfg_u32)address;
    if (!guest_known) return;
    if (store && found.instruction == instruction && found.address - address < bytes) found.instruction = 0;
    check_found();
    if (store) return check_learn(address, bytes, true);
    checked++;
    const addfg_u8 *now = (void *)(uintptr_t)(guest_base + address);
    bool changes = is_shared_memory(address);
    for (unsigned i = 0; i < bytes && !changes && !found.instruction; i++) {
        CheckPage *page = check_page(address + i, false);
        unsigned in = (address + i) % CHECK_PAGE;
        if (!page || !page->known[in] || page->bytes[in] == now[i]) continue;
        found.instruction = instruction;
        found.address = address + i;
        found.now = now[i];
        found.was = page->bytes[in];
    }
    check_learn(address, bytes, true);
}

/* What the stream tells. */
static void check_event(addfg_u32 what, const addfg_u64 *values)
{
    switch (what) {
    case ADDFG_KERNEL_WRITE:
        return check_learn(values[0], values[1], false);
    case ADDFG_MAP:
    case ADDFG_UNMAP:
    case ADDFG_FRESH:
    case ADDFG_SHARE:
        return check_forget(values[0], values[1]);
    case ADDFG_MOVE:
        check_forget(values[0], values[2]);
        return check_forget(values[1], values[2]);
    }
}

static void check_end(void)
{
    check_found();
    if (checking) say("addfg: check: %llu loads, %llu differ\n", checked, differing);
}
