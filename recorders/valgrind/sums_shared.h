/* Shared memory: the same bytes at several addresses, or at other ones later, have the same cells. A part of addfg_main.c.
 *
 * Each file that is mapped shared has addresses of its own, its home, above all that programs have. What is known of
 * its bytes lies in memory that is shared, too, and is mapped at the home and wherever the program has the file. So
 * the code of blocks needs to know nothing of it; what keeps addresses keeps those of the home.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* A file, or memory without one, by its key. */
typedef struct {
    FileKey key;
    /* Where its first byte has its home, and how many bytes have one. */
    Addr home;
    ULong room;
    HChar *name;
    /* The address that its first byte counts as, and how many bytes have such: a home may be another file's later. */
    Addr number;
    ULong numbers;
    /* Bytes of it that have been mapped, disjoint: first, end. */
    struct { ULong first, end; } *placed;
    UInt placed_count, placed_room;
    /* Where the program has it now; if nowhere, after how many others it left. */
    UInt aliases;
    ULong left;
} SharedFile;

static SharedFile *shared_files;
static UInt shared_file_count, shared_file_room;
/* A file has room for so much at least: it may grow. */
#define LEAST_ROOM (1ULL << 26)
/* Files that the program has nowhere are kept up to so many. */
#define MOST_LEFT 4096
static ULong files_left;
static Addr next_number = HOME_AT;

static Addr known_range(Addr a, SizeT *bytes);
static void map_memory(Addr a, Addr above, SizeT bytes, Bool executable, ULong offset, const HChar *name);
static void kernel_access(Bool is_write, Addr a, ULong bytes, Bool structure);
static void see_cells(Addr a, ULong bytes);

/* What the program has mapped last, which may be such a file. */
static Addr named_address;
static HChar *mapped_name;

/* Bytes of the program are in a file, by their addresses, disjoint. */
typedef struct {
    Addr start, end, home; /* exclusive */
} Alias;

static Alias *aliases;
static UInt alias_count, alias_room;

static void alias_bounds(void)
{
    places_change();
    aliases_low = alias_count ? aliases[0].start : 0;
    aliases_bytes = alias_count ? aliases[alias_count - 1].end - aliases_low : 0;
}

/* The first one that ends behind an address. */
static UInt alias_behind(Addr a)
{
    UInt low = 0, high = alias_count;
    while (low < high) {
        UInt mid = (low + high) / 2;
        if (aliases[mid].end > a) high = mid;
        else low = mid + 1;
    }
    return low;
}

static const Alias *alias_at(Addr a)
{
    if (!in_aliases(a)) return NULL;
    UInt i = alias_behind(a);
    return i < alias_count && aliases[i].start <= a ? aliases + i : NULL;
}

static Addr home_within(Addr a)
{
    const Alias *s = alias_at(a);
    return s ? s->home + (a - s->start) : a;
}

static Bool place_of_shared(Addr a, Place *place)
{
    const Alias *s = alias_at(a);
    if (!s) return False;
    Place p = place_of(s->home + (a - s->start));
    Addr end = s->home + (s->end - s->start);
    p.low = p.low > s->home ? s->start + (p.low - s->home) : s->start;
    p.high = p.high < end ? s->start + (p.high - s->home) : s->end;
    *place = p;
    return True;
}

/* The file that has its home there. */
static SharedFile *file_with_home(Addr home)
{
    UInt low = 0, high = shared_file_count;
    while (low + 1 < high) {
        UInt mid = (low + high) / 2;
        if (shared_files[mid].home <= home) low = mid;
        else high = mid;
    }
    return shared_files + low;
}

static Addr numbered_address(Addr a)
{
    a = home_of(a);
    if (a < HOME_AT) return a;
    const SharedFile *f = file_with_home(a);
    return f->number + (a - f->home);
}

/* The end of the bytes of a range that are together with its first one at their home. */
static Addr end_of_piece(Addr a, Addr end)
{
    if (a >= HOME_AT || !alias_count) return end;
    UInt i = alias_behind(a);
    Addr other = i == alias_count ? end : aliases[i].start > a ? aliases[i].start : aliases[i].end;
    return other < end ? other : end;
}

/* ---- what is known of it ---- */

/* Memory that is known about by so many bytes for two of the program. */
static const struct { Addr at; UInt for_two; } known_at[] = { { CELLS_AT, 4 }, { SAVES_AT, 8 }, { READERS_AT, 2 } };
#define KNOWN_AT (sizeof known_at / sizeof *known_at)

static Addr known_of(UInt i, Addr a) { return known_at[i].at + a / 2 * known_at[i].for_two; }

static Bool map_shared(Addr at, ULong bytes)
{
    SysRes r = VG_(do_syscall)(__NR_mmap, at, bytes, VKI_PROT_READ | VKI_PROT_WRITE,
                               VKI_MAP_SHARED | VKI_MAP_ANONYMOUS | VKI_MAP_NORESERVE | VKI_MAP_FIXED, -1, 0, 0, 0);
    return !sr_isError(r) && sr_Res(r) == at;
}

/* Of so many bytes nothing is known, and they are shared with no others. */
static void known_alone(Addr a, ULong bytes)
{
    for (UInt i = 0; i < KNOWN_AT; i++) reserve(known_of(i, a), known_of(i, a + bytes) - known_of(i, a));
    zeros((Addr)pair_at(a), (Addr)pair_at(a + bytes));
}

/* Of no bytes of shared memory it is another mapping. */
static Bool moved_mapping(Addr from, ULong bytes, Addr to, ULong new_bytes)
{
    enum { MAY_MOVE = 1, FIXED = 2 };
    SysRes r = VG_(do_syscall)(__NR_mremap, from, bytes, new_bytes, MAY_MOVE | FIXED, to, 0, 0, 0);
    return !sr_isError(r) && sr_Res(r) == to;
}

/* What is known of the home is known there, too. */
static Bool known_together(Addr a, Addr home, ULong bytes)
{
    Bool all = True;
    zeros((Addr)pair_at(a), (Addr)pair_at(a + bytes));
    for (UInt i = 0; i < KNOWN_AT; i++) all &= moved_mapping(known_of(i, home), 0, known_of(i, a), known_of(i, a + bytes) - known_of(i, a));
    return all;
}

/* Pages of shared memory that are there, from an address on; all, where nobody says so. */
#define ASKED_PAGES 4096
static const UChar *pages_there(Addr at)
{
    static UChar there[ASKED_PAGES];
    SysRes r = VG_(do_syscall)(__NR_mincore, at, ASKED_PAGES * 4096, (Addr)there, 0, 0, 0, 0, 0);
    if (sr_isError(r)) VG_(memset)(there, 1, sizeof there);
    return there;
}

/* Each page of a file's cells that is there, which is of half a page of memory, until one is what is looked for. */
static Bool any_cells(const SharedFile *f, Bool (*what)(Addr a, ULong bytes))
{
    for (Addr a = f->home, end = f->home + f->room; a < end; a += ASKED_PAGES * 2048) {
        const UChar *there = pages_there((Addr)cell_of(a));
        for (UInt k = 0; k < ASKED_PAGES; k++)
            if (there[k] & 1 && what(a + k * 2048, 2048)) return True;
    }
    return False;
}

static Bool has_writer(Addr a, ULong bytes)
{
    const ULong *cells = (const ULong *)cell_of(a);
    for (ULong i = 0; i < bytes / 4; i++)
        if (cells[i]) return True;
    return False;
}

static SharedFile *recycled(SharedFile *f)
{
    cells_clear(f->home, f->room);
    zeros((Addr)pair_at(f->home), (Addr)pair_at(f->home + f->room));
    cut_places(f->home, f->home + f->room, OF_IMAGE);
    f->placed_count = 0;
    f->numbers = 0;
    f->key.device = f->key.number = 0;
    return f;
}

/* A file that is nowhere, of which nothing is known that could be asked for again, as far as one has such room. */
static SharedFile *file_of_before(ULong room)
{
    SharedFile *oldest = NULL;
    for (UInt i = 0; i < shared_file_count; i++) {
        SharedFile *f = shared_files + i;
        if (f->aliases || f->room < room) continue;
        if (!f->key.device && !f->key.number) return f;
        if (f->left + MOST_LEFT < files_left && (!oldest || f->left < oldest->left)) oldest = f;
    }
    if (!oldest) return NULL;
    /* What is written is read later, maybe. */
    oldest->left = files_left;
    return any_cells(oldest, has_writer) ? NULL : recycled(oldest);
}

/* Its bytes up to an end count as addresses of their own. False: there are no more. */
static Bool give_numbers(SharedFile *f, ULong end)
{
    if (end <= f->numbers) return True;
    /* What has grown so much counts anew. */
    if (f->numbers) problem(SHARED);
    for (f->numbers = 1 << 16; f->numbers < 4 * end;) f->numbers *= 2;
    f->number = next_number;
    next_number += f->numbers;
    return next_number <= HOME_END;
}

/* The file; NULL: it has no room for its bytes up to an end. */
static SharedFile *shared_file(FileKey key, ULong end)
{
    for (UInt i = 0; i < shared_file_count; i++) {
        SharedFile *f = shared_files + i;
        if (same_file(f->key, key)) return end <= f->room && give_numbers(f, end) ? f : NULL;
    }
    SharedFile f = { key, next_home + 4096, LEAST_ROOM };
    if (end > (HOME_END - HOME_AT) / 4) return NULL;
    while (f.room < 2 * end) f.room *= 2;
    SharedFile *before = file_of_before(f.room);
    if (before) {
        before->key = key;
        VG_(free)(before->name);
        before->name = VG_(strdup)("addfg.shared", mapped_name ? mapped_name : "");
        return give_numbers(before, end) ? before : NULL;
    }
    /* A page on both sides: what is looked at beside it is nobody's. */
    ULong all = f.room + 2 * 4096;
    if (all > HOME_END - next_home || !reserve((Addr)pair_at(next_home), all / 2)) return NULL;
    known_alone(next_home, all);
    for (UInt i = 0; i < KNOWN_AT; i++)
        if (!map_shared(known_of(i, f.home), known_of(i, f.home + f.room) - known_of(i, f.home))) return NULL;
    next_home += all;
    if (!give_numbers(&f, end)) return NULL;
    f.name = VG_(strdup)("addfg.shared", mapped_name ? mapped_name : "");
    ROOM(shared_files, shared_file_count, shared_file_room);
    shared_files[shared_file_count] = f;
    return shared_files + shared_file_count++;
}

/* ---- where it is mapped ---- */

static Bool is_removed(ULong segment)
{
#ifdef __NR_shmctl
    enum { STAT = 2 };
    static UChar answer[256];
    return sr_isError(VG_(do_syscall)(__NR_shmctl, segment, STAT, (Addr)answer, 0, 0, 0, 0, 0));
#else
    return False;
#endif
}

/* So many more addresses have bytes of the file that has its home there. */
static void have_file(Addr home, Int more)
{
    SharedFile *f = file_with_home(home);
    f->aliases += more;
    if (f->aliases) return;
    f->left = ++files_left;
    /* Without a name nobody finds it again, nor a segment that was removed. */
    if (f->key.device == OF_NOTHING || (f->key.device == OF_SEGMENT && is_removed(f->key.number))) recycled(f);
}

/* Loads forget what they know of addresses. */
static void forget_alias(const Alias *s)
{
    ULong ids = 0;
    Addr end = s->home + (s->end - s->start);
    for (UInt i = place_behind(s->home); i < place_count && places[i].low < end; i++)
        if (places[i].met) ids |= 1ULL << places[i].id % 64;
    if (ids) forget_places_of(s->start, s->end, ids);
}

/* Something else lies there, or nothing. */
static void unshare(Addr low, Addr high)
{
    for (UInt i = alias_behind(low); i < alias_count && aliases[i].start < high;) {
        Alias s = aliases[i], gone = s;
        if (gone.start < low) gone.start = low;
        if (gone.end > high) gone.end = high;
        gone.home += gone.start - s.start;
        Int pieces = (s.start < gone.start) + (gone.end < s.end);
        forget_alias(&gone);
        known_alone(gone.start, gone.end - gone.start);
        VG_(memmove)(aliases + i, aliases + i + 1, (alias_count - i - 1) * sizeof *aliases);
        alias_count--;
        Alias rest[2] = { { s.start, gone.start, s.home }, { gone.end, s.end, s.home + (gone.end - s.start) } };
        for (UInt k = 0; k < 2; k++) {
            if (rest[k].start == rest[k].end) continue;
            ROOM(aliases, alias_count, alias_room);
            VG_(memmove)(aliases + i + 1, aliases + i, (alias_count - i) * sizeof *aliases);
            alias_count++;
            aliases[i++] = rest[k];
        }
        have_file(s.home, pieces - 1);
    }
    alias_bounds();
}

/* The next bytes of a file up to an end that have not been mapped yet, from where it begins; they have been from then on. */
static Bool next_new(SharedFile *f, ULong *first, ULong to, ULong *end)
{
    for (Bool moved = True; moved;) {
        moved = False;
        for (UInt i = 0; i < f->placed_count; i++) {
            if (*first < f->placed[i].first || *first >= f->placed[i].end) continue;
            *first = f->placed[i].end;
            moved = True;
        }
    }
    if (*first >= to) return False;
    *end = to;
    for (UInt i = 0; i < f->placed_count; i++)
        if (f->placed[i].first > *first && f->placed[i].first < *end) *end = f->placed[i].first;
    ROOM(f->placed, f->placed_count, f->placed_room);
    f->placed[f->placed_count].first = *first;
    f->placed[f->placed_count++].end = *end;
    return True;
}

/* Bytes of a file from an offset on are mapped. */
static void sums_share(Addr start, Addr end, FileKey key, ULong offset)
{
    if (!summing || start >= end) return;
    SizeT bytes = end - start;
    start = known_range(start, &bytes);
    end = start + bytes;
    unshare(start, end);
    if (named_address != start && mapped_name) mapped_name[0] = 0;
    SharedFile *f = offset < HOME_END ? shared_file(key, offset + bytes) : NULL;
    if (!f) return problem(SHARED);
    ULong first = offset, to;
    while (next_new(f, &first, offset + bytes, &to)) {
        map_memory(f->home + first, 0, to - first, False, first, f->name);
        first = to;
    }
    if (!known_together(start, f->home + offset, bytes)) return problem(SHARED);
    UInt i = alias_behind(start);
    Alias new = { start, end, f->home + offset };
    ROOM(aliases, alias_count, alias_room);
    VG_(memmove)(aliases + i + 1, aliases + i, (alias_count - i) * sizeof *aliases);
    alias_count++;
    aliases[i] = new;
    alias_bounds();
    f->aliases++;
}

static void note_mapped_name(Addr a, const HChar *name)
{
    named_address = a;
    if (mapped_name) VG_(free)(mapped_name);
    mapped_name = name ? VG_(strdup)("addfg.shared", name) : NULL;
}

/* ---- what the kernel does ---- */

/* Links that were copied: what each is there. */
typedef struct { UInt of, copy; } CopiedLink;
static CopiedLink *copied;
static UInt copied_count, copied_room;

/* The link that a link is among the bytes that are copied. */
static UInt copied_link(UInt of, Addr from, Addr to, ULong bytes)
{
    for (UInt i = copied_count; i-- > 0;)
        if (copied[i].of == of) return copied[i].copy;
    Linked l = linked[of];
    Addr low = l.low > from ? l.low : from, high = l.high < from + bytes ? l.high : from + bytes;
    CopiedLink new = { of, new_linked(low - from + to, high - from + to, l.function, l.begins || l.low < from) };
    ROOM(copied, copied_count, copied_room);
    copied[copied_count++] = new;
    return new.copy;
}

/* Who wrote bytes of memory has written them to a file, too. */
static void copy_cells(Addr from, Addr to, ULong bytes)
{
    expose_range(from, bytes);
    Cell behind = *cell_of(to + bytes);
    if (behind && !(behind & CELL_FIRST)) split_store(to, bytes);
    copied_count = 0;
    for (ULong k = 0; k < bytes; k++) {
        /* They may overlap. */
        ULong i = to > from ? bytes - 1 - k : k;
        Cell cell = *cell_of(from + i);
        UInt link = (cell & CELL_FUNCTION) == CELL_LINKED ? copied_link(*save_of(from + i), from, to, bytes) : 0;
        if (link) *save_of(to + i) = link;
        *cell_of(to + i) = i || !cell ? cell : cell | CELL_FIRST;
    }
    readers_clear(to, bytes);
}

static void sums_file_write(FileKey key, ULong offset, ULong bytes, Addr from)
{
    if (!summing) return;
    SharedFile *f = offset < HOME_END ? shared_file(key, offset + bytes) : NULL;
    if (!f) return problem(SHARED);
    Addr to = f->home + offset;
    if (!from) return kernel_access(True, to, bytes, False);
    SizeT known = bytes;
    from = known_range(from, &known);
    for (Addr end = from + known; from < end;) {
        Addr next = end_of_piece(from, end);
        copy_cells(home_of(from), to, next - from);
        to += next - from;
        from = next;
    }
}

/* ---- all of them ---- */

static Bool see_page(Addr a, ULong bytes)
{
    see_cells(a, bytes);
    return False;
}

/* All that shared files have is seen once, at their home. */
static void see_shared_files(void)
{
    for (UInt i = 0; i < shared_file_count; i++) any_cells(shared_files + i, see_page);
}

/* What the parent of a child has written since is nobody's. */
static Bool forget_unknown(Addr a, ULong bytes)
{
    for (Addr end = a + bytes; a < end; a++) {
        UInt number = *cell_of(a) & CELL_FUNCTION;
        Bool known = number == CELL_LINKED ? *save_of(a) < linked_count : is_kernel(number) || (number < NUMBERS && numbered[number]);
        if (!known) *cell_of(a) = 0;
    }
    return False;
}

/* A child has what its parent knew of shared files, and from then on what it writes itself. `keeps`: it sums. */
static void own_shared_files(Bool keeps)
{
    /* The parent's is left as it is. */
    for (UInt i = 0; i < alias_count; i++) {
        forget_alias(aliases + i);
        known_alone(aliases[i].start, aliases[i].end - aliases[i].start);
    }
    alias_count = 0;
    alias_bounds();
    for (UInt n = 0; n < shared_file_count; n++) {
        SharedFile *f = shared_files + n;
        f->placed_count = f->aliases = 0;
        for (UInt i = 0; i < KNOWN_AT; i++) {
            Addr at = known_of(i, f->home);
            ULong bytes = known_of(i, f->home + f->room) - at;
            Bool copies = keeps && map_shared(COPY_AT, bytes);
            for (ULong k = 0; k < bytes / 4096 && copies; k += ASKED_PAGES) {
                const UChar *there = pages_there(at + k * 4096);
                for (UInt p = 0; p < ASKED_PAGES; p++)
                    if (there[p] & 1) VG_(memcpy)((void *)(COPY_AT + (k + p) * 4096), (void *)(at + (k + p) * 4096), 4096);
            }
            if (!copies || !moved_mapping(COPY_AT, bytes, at, bytes)) reserve(at, bytes);
        }
        if (keeps) any_cells(f, forget_unknown);
    }
}
