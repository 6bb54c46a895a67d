/* Who wrote each byte of memory last, and where bytes lie. A part of addfg_main.c.
 *
 * Two bytes for each byte of the program, in one reserved mapping: the function that wrote it (0: none),
 * whether it is the first byte of its store, and whether it is of a live save of a register. Another
 * mapping has the number of that save.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

typedef UShort Cell;
#define CELL_FUNCTION 0x3fff
#define CELL_FIRST 0x4000
#define CELL_SAVE 0x8000
/* What the kernel wrote has numbers downwards from here, by what it is named by; functions have numbers below. */
#define KERNEL_CELL 16382
#define KERNEL_NAMES 2047
static UInt kernel_sources;

/* Bytes of a store into whose middle another one went: who wrote them is with the number that the second mapping has. */
#define CELL_LINKED 16383

typedef struct {
    Addr low, high; /* exclusive */
    UInt function;
    Bool begins; /* the store began there, and not below */
} Linked;

/* Loads reach no farther. */
#define LINK_REACH 64

/* The first is none; those that are free are a list, by `function`. */
static Linked *linked;
static UInt linked_count = 1, linked_room, linked_free;

static inline Bool is_kernel(UInt function) { return function > KERNEL_CELL - kernel_sources; }

/* Addresses are known without their upper bits: few programs have anything farther up, and none of them beside what
 * would be taken for it. So whatever a program may name is known somewhere. */
#define ADDRESS_BITS 41
#define TOP_ADDRESS (1ULL << ADDRESS_BITS)
#define CELLS_AT 0x200000000000ULL
#define SAVES_AT 0x280000000000ULL

static inline Addr folded(Addr a) { return a & (TOP_ADDRESS - 1); }

static inline Cell *cell_of(Addr a) { return (Cell *)(CELLS_AT + 2 * a); }
static inline UInt *save_of(Addr a) { return (UInt *)(SAVES_AT + 4 * a); }

/* Bytes of shared files are known by addresses of their own, above those of programs (sums_shared.h). */
#define HOME_AT TOP_ADDRESS
#define HOME_END (HOME_AT + (1ULL << 40))
static Addr next_home = HOME_AT;
/* What all addresses lie in at which the program has such bytes. */
static Addr aliases_low;
static ULong aliases_bytes;
static inline Bool in_aliases(Addr a) { return a - aliases_low < aliases_bytes; }
static Addr home_within(Addr a);
/* The address that a byte is known by. */
static inline Addr home_of(Addr a) { return in_aliases(a) ? home_within(a) : a; }
static Addr end_of_piece(Addr a, Addr end);

#define READERS_AT 0x380000000000ULL
#define PAIRS_AT 0x3c0000000000ULL

/* Of the eight bytes that an address lies in: who has read them, and the pair that shared them last (sums_readers.h). */
static inline ULong *reader_at(Addr a) { return (ULong *)(READERS_AT + (a & ~7ULL)); }
static inline UInt *pair_at(Addr a) { return (UInt *)(PAIRS_AT + (a & ~7ULL) / 2); }

static Bool reserve(Addr at, ULong bytes)
{
    SysRes r = VG_(do_syscall)(__NR_mmap, at, bytes, VKI_PROT_READ | VKI_PROT_WRITE,
                               VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | VKI_MAP_NORESERVE | VKI_MAP_FIXED, -1, 0, 0, 0);
    return !sr_isError(r) && sr_Res(r) == at;
}

/* With a page before it: what is known of the byte before the first one is looked at, too. */
static Bool reserve_behind(Addr at, ULong bytes) { return reserve(at - VKI_PAGE_SIZE, bytes + VKI_PAGE_SIZE); }

/* Reserved areas that are used from the bottom on: what is there stays there. */
#define FLOWS_AT 0x3e0000000000ULL
#define STATES_AT 0x3e4000000000ULL
#define TABLES_AT 0x3e8000000000ULL
#define COPY_AT 0x3f0000000000ULL
#define AREA (1ULL << 37)

/* The system may give large pages there: what is looked at all over has fewer misses. */
#define LARGE (1ULL << 21)
#define LARGE_PAGES 14
static void large_pages(Addr at, ULong bytes) { VG_(do_syscall)(__NR_madvise, at, bytes, LARGE_PAGES, 0, 0, 0, 0, 0); }

/* The first pages are small ones: few programs need more. */
static Bool reserve_area(Addr at)
{
    if (!reserve(at, AREA)) return False;
    large_pages(at + LARGE, AREA - LARGE);
    return True;
}

/* A table of zeros. Large ones lie behind each other in an area: each is twice as large as the one before. */
static void *new_table(ULong bytes)
{
    static Addr end = TABLES_AT;
    if (bytes < LARGE || end + bytes > TABLES_AT + AREA) return VG_(calloc)("addfg.table", bytes, 1);
    end += bytes;
    return (void *)(end - bytes);
}

static void free_table(void *table, ULong bytes)
{
    if ((Addr)table < TABLES_AT || (Addr)table >= TABLES_AT + AREA) VG_(free)(table);
    else if (reserve((Addr)table, bytes)) large_pages((Addr)table, bytes);
}

/* All areas lie in it, and the counts of sums_wire.h: the core takes it for the program's memory. */
#define AREAS_END 0x410000000000ULL
#define AREAS_AT SENT_AT
static Bool in_areas(Addr a) { return a >= AREAS_AT && a < AREAS_END; }

/* Of the core, which exports it to itself only: something of the program lies there. */
extern Bool VG_(am_notify_client_mmap)(Addr a, SizeT bytes, UInt protection, UInt flags, Int file, Off64T offset);

/* The program is given no memory there, also where it asks for it (V8 asks for addresses at random). Without rights it
 * is in no core dump. */
static void keep_areas(void)
{
    VG_(am_notify_client_mmap)(AREAS_AT, AREAS_END - AREAS_AT, VKI_PROT_NONE, VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS, -1, 0);
}

/* Whether what is at an address that others of these are known by is mapped at several. */
static Bool is_shared_known(Addr at)
{
    return (at >= CELLS_AT + 2 * HOME_AT && at < CELLS_AT + 2 * HOME_END) || (at >= READERS_AT + HOME_AT && at < READERS_AT + HOME_END);
}

static void zeros(Addr from, Addr to)
{
    Addr first = VG_PGROUNDUP(from), last = VG_PGROUNDDN(to);
    Bool shared = is_shared_known(from);
    if (first + (shared ? 1 : 16) * 4096 > last) {
        VG_(memset)((void *)from, 0, to - from);
        return;
    }
    VG_(memset)((void *)from, 0, first - from);
    enum { REMOVE = 9 };
    if (shared) VG_(do_syscall)(__NR_madvise, first, last - first, REMOVE, 0, 0, 0, 0, 0);
    else reserve(first, last - first);
    VG_(memset)((void *)last, 0, to - last);
}

/* Nobody has read these bytes since they were written. */
static void readers_clear(Addr a, ULong bytes)
{
    Addr end = a + bytes;
    for (; a < end && (a & 7 || end - a < 8); a++) *reader_at(a) &= ~(0x10001ULL << (a & 7));
    if (a >= end) return;
    Addr whole = end & ~7ULL;
    zeros(READERS_AT + a, READERS_AT + whole);
    if (whole < end) readers_clear(whole, end - whole);
}

/* Nobody has written these bytes. */
static void cells_clear(Addr a, ULong bytes)
{
    if (!bytes) return;
    zeros(CELLS_AT + 2 * a, CELLS_AT + 2 * (a + bytes));
    readers_clear(a, bytes);
}

static Bool is_linked(UInt number)
{
    for (Addr a = linked[number].low; a < linked[number].high; a++)
        if ((*cell_of(a) & CELL_FUNCTION) == CELL_LINKED && *save_of(a) == number) return True;
    return False;
}

/* Links of which all bytes have been overwritten are free again; gives how many are not. */
static UInt free_links(void)
{
    UInt kept = 0;
    linked_free = 0;
    for (UInt n = 1; n < linked_count; n++) {
        if (is_linked(n)) {
            kept++;
            continue;
        }
        Linked none = { 0, 0, linked_free, False };
        linked[n] = none;
        linked_free = n;
    }
    return kept;
}

#define FEW_LINKS 4096

static UInt new_linked(Addr low, Addr high, UInt function, Bool begins)
{
    /* One whose bytes have all been overwritten is used again. */
    UInt number = *save_of(low);
    Linked new = { low, high, function, begins };
    if (number && number < linked_count && linked[number].low == low && linked[number].high == high) {
        linked[number] = new;
        return number;
    }
    /* As many are made before the next look as there were at the last one: none costs more than a few looks. */
    static UInt made, most = FEW_LINKS;
    if (made++ >= most) {
        UInt kept = free_links();
        most = kept > FEW_LINKS ? kept : FEW_LINKS;
        made = 0;
    }
    number = linked_free;
    if (number) linked_free = linked[number].function;
    else {
        ROOM(linked, linked_count, linked_room);
        number = linked_count++;
    }
    linked[number] = new;
    return number;
}

/* Two links of one write that meet are one: the shorter one's bytes are the other's. */
static void join_links(UInt a, UInt b)
{
    Linked *l = linked + a, *r = linked + b;
    Bool left = l->high - l->low < r->high - r->low;
    const Linked *of = left ? l : r;
    for (Addr at = of->low; at < of->high; at++)
        if ((*cell_of(at) & CELL_FUNCTION) == CELL_LINKED && *save_of(at) == (left ? a : b)) *save_of(at) = left ? b : a;
    if (left) {
        r->low = l->low;
        r->begins = l->begins;
    } else l->high = r->high;
}

/* Bytes are of a link. Stores that end in its first ones are looked at, if what it is of began below. */
static void link_cells(Addr low, Addr high, UInt number)
{
    const Linked *l = linked + number;
    for (Addr at = low; at < high; at++) {
        *cell_of(at) = l->begins || at - l->low >= LINK_REACH ? CELL_LINKED | CELL_FIRST : CELL_LINKED;
        *save_of(at) = number;
    }
}

/* A link that ends at an address, of a write that goes on there; 0: there is none. */
static UInt link_below(Addr a, UInt function)
{
    UInt number = *save_of(a - 1);
    Bool is_one = (*cell_of(a - 1) & CELL_FUNCTION) == CELL_LINKED && !(*cell_of(a) & CELL_FIRST);
    return is_one && linked[number].high == a && linked[number].function == function ? number : 0;
}

/* How far a write reaches down from its byte before an address; no farther than so. */
static Addr begin_of(Addr a, Cell cell, Addr lowest)
{
    while (*cell_of(a - 1) == cell && a > lowest) a--;
    return *cell_of(a - 1) == (cell | CELL_FIRST) && a > lowest ? a - 1 : a;
}

/* A store ends in a link. Where what that is of goes on below the store, both are linked; else it begins there from now on. */
static void link_more(Addr a, UWord size)
{
    UInt number = *save_of(a + size);
    Linked *l = linked + number;
    Cell cell = l->function;
    if (l->begins || l->low < a) return;
    Addr high = l->low, low = high;
    UInt below = 0;
    while (low > a && *cell_of(low - 1) == cell) low--;
    if (low == a) {
        low = begin_of(a, cell, a - LINK_REACH);
        below = link_below(low, cell);
    }
    if (low >= a && !below) {
        l->begins = True;
        return;
    }
    l->low = low;
    l->begins = (*cell_of(low) & CELL_FIRST) != 0;
    link_cells(low, high, number);
    if (below) join_links(below, number);
}

/* What is behind a store that ends in the middle of an older one begins a store of its own; if the older one began
 * before, the two ends of it are linked. */
static void split_store(Addr a, UWord size)
{
    /* Of several pieces the last one ends there. */
    for (Addr end = end_of_piece(a, a + size); end < a + size; end = end_of_piece(a, a + size)) {
        size -= end - a;
        a = end;
    }
    /* What another mapping has behind it is something else. */
    Addr behind = home_of(a + size);
    Bool alone = home_of(a) == a && behind != a + size;
    a = home_of(a);
    Cell cell = *cell_of(a + size);
    if (alone || !cell || cell & CELL_FIRST) return;
    UInt function = cell & CELL_FUNCTION;
    if (function == CELL_LINKED) return link_more(a, size);
    Addr low = begin_of(a + size, cell, a - LINK_REACH), high = a + size + 1;
    /* What is below may be linked already, and what is above. */
    UInt number = link_below(low, function);
    *cell_of(a + size) |= CELL_FIRST;
    if (low >= a && !number) return;
    if (cell & CELL_SAVE) return problem(SPLIT_STORES);
    while (*cell_of(high) == cell && high < a + size + LINK_REACH) high++;
    UInt above = *save_of(high);
    Bool joins = (*cell_of(high) & CELL_FUNCTION) == CELL_LINKED && linked[above].low == high && !linked[above].begins
        && linked[above].function == function;
    if (number) linked[number].high = high;
    else number = new_linked(low, high, function, (*cell_of(low) & CELL_FIRST) != 0);
    link_cells(low, high, number);
    if (joins) join_links(number, above);
}

static void cells_write(Addr a, ULong bytes, Cell function)
{
    if (!bytes) return;
    Cell behind = *cell_of(a + bytes);
    if (behind && !(behind & CELL_FIRST)) split_store(a, bytes);
    Cell *cell = cell_of(a);
    for (ULong i = 0; i < bytes; i++) cell[i] = function;
    cell[0] |= CELL_FIRST;
    readers_clear(a, bytes);
}

static void cells_move(Addr from, Addr to, ULong bytes)
{
    VG_(memmove)(cell_of(to), cell_of(from), 2 * bytes);
    readers_clear(to, bytes);
    for (ULong i = 0; i < bytes; i++) {
        if ((*cell_of(to + i) & CELL_FUNCTION) != CELL_LINKED) continue;
        Linked *l = linked + (*save_of(to + i) = *save_of(from + i));
        /* Once, as it does not lie there any more. */
        if (l->low - from >= bytes) continue;
        l->low += to - from;
        l->high += to - from;
    }
    cells_clear(from, bytes);
}

/* ---- places: sections of images and files, and regions of memory that has none ---- */

typedef struct {
    Addr low, high; /* exclusive */
    UInt id;
    UInt of;
    Bool met; /* a load remembers it */
} Place;

/* What a place is of. */
enum { OF_MEMORY, OF_FILE, OF_IMAGE };

#define REGION (1u << 30)
#define STACK (1u << 31)

static Place *places;
static UInt place_count, place_room;
/* By region. */
static Bool *region_is_stack;
static UInt region_count, region_room;
/* Stack pointer before the first instruction. */
static Addr first_stack;
/* A place that is known to be a stack, as it is now: so many bytes from here on. */
static Addr known_stack;
static ULong known_stack_bytes;
/* Places that were looked up last, by the address: so many bytes from here on. */
#define RECENT_PLACES 64
static struct {
    Addr low;
    ULong bytes;
    UInt id;
} recent_place[RECENT_PLACES];

/* What is known of places may not hold any more. */
static void places_change(void)
{
    known_stack_bytes = 0;
    VG_(memset)(recent_place, 0, sizeof recent_place);
}

static UInt new_region(void)
{
    ROOM(region_is_stack, region_count, region_room);
    return REGION | region_count++;
}

/* Nothing is mapped. */
static void forget_places(void)
{
    for (UInt i = 0; i < region_count; i++) region_is_stack[i] = False;
    place_count = region_count = 0;
    first_stack = 0;
    places_change();
}

/* The first place that ends behind an address. */
static UInt place_behind(Addr a)
{
    UInt low = 0, high = place_count;
    while (low < high) {
        UInt mid = (low + high) / 2;
        if (places[mid].high > a) high = mid;
        else low = mid + 1;
    }
    return low;
}

static void insert_place(UInt at, Place p)
{
    places_change();
    ROOM(places, place_count, place_room);
    VG_(memmove)(places + at + 1, places + at, (place_count - at) * sizeof *places);
    places[at] = p;
    place_count++;
}

/* Loads forget that these addresses are of one place, which is one of these by the ends of their numbers (sums_code.h). */
static void forget_places_of(Addr low, Addr high, ULong ids);

/* Takes a range out of the places that are of so much at most. */
static void cut_places(Addr low, Addr high, UInt most)
{
    for (UInt i = place_behind(low); i < place_count && places[i].low < high;) {
        Place p = places[i];
        if (p.of > most) {
            i++;
            continue;
        }
        places_change();
        if (p.met) forget_places_of(p.low, p.high, 1ULL << p.id % 64);
        Place behind = p;
        behind.low = high;
        if (p.low < low) places[i++].high = low;
        else {
            VG_(memmove)(places + i, places + i + 1, (place_count - i - 1) * sizeof *places);
            place_count--;
        }
        if (behind.low < behind.high) insert_place(i, behind);
    }
}

/* Gives what of a range no place has a place. */
static void fill_places(Addr low, Addr high, UInt id, UInt of)
{
    for (UInt i = place_behind(low); low < high; i++) {
        Addr end = i < place_count && places[i].low < high ? places[i].low : high;
        Place p = { low, end, id, of, False };
        if (low < end) insert_place(i++, p);
        low = i < place_count && end < high ? places[i].high : high;
    }
}

/* Memory lies there from now on, `of` a file or of none, which takes it from a file that lay there. */
static void new_memory(Addr low, Addr high, UInt of)
{
    cut_places(low, high, of == OF_FILE ? OF_MEMORY : OF_FILE);
    fill_places(low, high, new_region(), OF_MEMORY);
}

/* The place of an address of a shared file. */
static Bool place_of_shared(Addr a, Place *place);

/* The place of an address, and up to where on both sides it is the same one. */
static Place place_of(Addr a)
{
    Place of_shared;
    if (in_aliases(a) && place_of_shared(a, &of_shared)) return of_shared;
    UInt i = place_behind(a);
    if (i >= place_count || places[i].low > a) {
        /* A stack has grown: nobody tells. */
        Addr page = VG_PGROUNDDN(a);
        const NSegment *s = VG_(am_find_nsegment)(a);
        Bool grown = s && i < place_count && places[i].low <= s->end && places[i].id & REGION;
        if (grown) places[i].low = page;
        else fill_places(page, page + 4096, new_region(), OF_MEMORY);
        i = place_behind(a);
    }
    places[i].met = True;
    Place p = places[i];
    if (p.id & REGION && first_stack) {
        if (a >= first_stack && p.low < first_stack) p.low = first_stack;
        if (a < first_stack && p.high > first_stack) p.high = first_stack;
    }
    return p;
}
