/* Saves of registers: a store of what another instance left in a register, until it is restored, read otherwise
 * or overwritten, or its instance ends. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

#define SAVED_GRANULES 9

typedef struct {
    Addr at;
    UInt size, offset, call, function, next;
    Bool live;
    /* Of the granules that its bytes lie in. */
    Tag tag[SAVED_GRANULES];
    Mixed *mixed;
} Save;

/* The first is none. */
static Save *saves;
static UInt save_count = 1, save_room, save_free;

/* Bytes below an instance's frame top that are its frame (`src/analysis/restores.rs`). */
#define FRAME_REACH (8ULL << 20)

static UInt new_save(void)
{
    if (save_free) {
        UInt s = save_free;
        save_free = saves[s].next;
        return s;
    }
    if (save_count >= save_room) {
        save_room = save_room ? save_room * 2 : 1024;
        saves = VG_(realloc)("addfg.saves", saves, save_room * sizeof *saves);
    }
    saves[save_count].mixed = NULL;
    return save_count++;
}

/* Its bytes are an ordinary store from here on. */
static void save_is_store(UInt number)
{
    Save *s = saves + number;
    s->live = False;
    for (UInt i = 0; i < s->size; i++)
        if (*cell_of(s->at + i) & CELL_SAVE && *save_of(s->at + i) == number) *cell_of(s->at + i) &= ~CELL_SAVE;
}

static void saves_end(UInt first)
{
    while (first) {
        UInt next = saves[first].next;
        if (saves[first].live) save_is_store(first);
        if (saves[first].mixed) VG_(free)(saves[first].mixed);
        saves[first].mixed = NULL;
        saves[first].next = save_free;
        save_free = first;
        first = next;
    }
}

/* Something else than a restore reads it: its own read of the register counts now. */
static void expose(UInt number)
{
    Save *s = saves + number;
    if (!s->live) return;
    Parts p = { 0 };
    UInt first = s->offset / 8;
    read_parts(&p, s->tag, s->mixed, s->offset - first * 8, s->size);
    for (UInt i = 0; i < p.count; i++) {
        Flow *f = flow(p.of[i].function ? p.of[i].function : INITIAL, s->function, 0);
        f->bytes += p.of[i].bytes;
        f->transfers++;
    }
    save_is_store(number);
}

/* The bytes of a save by whom they are read: exposed. */
static void expose_range(Addr a, ULong bytes)
{
    for (ULong i = 0; i < bytes; i++)
        if (*cell_of(a + i) & CELL_SAVE) expose(*save_of(a + i));
}

/* A read of a register by a store that is no save, of what is there now. */
static void read_now(UInt offset, UInt size, UInt reader)
{
    Parts p = { 0 };
    read_parts(&p, T.tag, T.mixed, offset, size);
    Taken t = { 0 };
    take_parts(&t, &p, reader);
    count_taken(&t, 1);
}

static Bool is_foreign(UInt offset, UInt size)
{
    UInt own = CALL_OF(T.own);
    for (UInt b = offset; b < offset + size; b++) {
        Tag tag = T.tag[b / 8];
        if (IS_MIXED(tag)) tag = T.mixed[b / 8][b % 8].tag;
        else b |= 7;
        if (FUNCTION_OF(tag) && CALL_OF(tag) == own) return False;
    }
    return True;
}

static Bool in_frame(Addr a, UInt size, Bool stack_relative)
{
    Addr top = T.depth ? T.frames[T.depth - 1].slot : 0;
    if (!top) return stack_relative;
    return a < top && a + size <= top && a >= (top > FRAME_REACH ? top - FRAME_REACH : 0);
}

/* What stands where a store has just written ordinary cells is a save of the register. */
static void make_save(Addr a, UInt size, UInt offset)
{
    Frame *top = T.frames + T.depth - 1;
    UInt first = offset / 8, last = (offset + size - 1) / 8, number = *save_of(a);
    /* One that was overwritten there is used again. */
    Bool again = number && number < save_count && saves[number].at == a && saves[number].size == size
        && saves[number].call == top->call;
    if (!again) {
        number = new_save();
        saves[number].next = top->saves;
        top->saves = number;
    }
    Save *s = saves + number;
    s->at = a;
    s->size = size;
    s->offset = offset;
    s->call = top->call;
    s->function = top->function;
    s->live = True;
    for (UInt g = first; g <= last && g - first < SAVED_GRANULES; g++) {
        s->tag[g - first] = T.tag[g];
        if (!IS_MIXED(T.tag[g])) continue;
        if (!s->mixed) s->mixed = VG_(calloc)("addfg.mixed", SAVED_GRANULES, sizeof(Mixed));
        VG_(memcpy)(s->mixed[g - first], T.mixed[g], sizeof(Mixed));
    }
    s->tag[0] &= ~(Tag)TAG_BEHIND;
    for (UInt i = 0; i < size; i++) {
        *cell_of(a + i) |= CELL_SAVE;
        *save_of(a + i) = number;
    }
}

/* The save that a load gives back; 0: it is none. */
static UInt restored(Addr a, UInt size, UInt offset)
{
    UInt number = *save_of(a);
    if (!(*cell_of(a) & CELL_SAVE)) return 0;
    const Save *s = saves + number;
    if (!s->live || s->at != a || s->size != size || s->offset != offset || s->call != CALL_OF(T.own)) return 0;
    for (UInt i = 0; i < size; i++)
        if (!(*cell_of(a + i) & CELL_SAVE) || *save_of(a + i) != number) return 0;
    return number;
}

/* The register has its old writers again. */
static void give_back(UInt number)
{
    const Save *s = saves + number;
    UInt first = s->offset / 8, end = s->offset + s->size;
    for (UInt b = s->offset; b < end;) {
        UInt g = b / 8, next = (g + 1) * 8 < end ? (g + 1) * 8 : end;
        Tag tag = s->tag[g - first];
        if (next - b == 8 && !IS_MIXED(tag)) {
            T.tag[g] = tag;
        } else {
            expand(g);
            ULong write = ++writes_apart;
            for (UInt k = b; k < next; k++) {
                OneByte one = { tag & ~(Tag)TAG_BEHIND, tag & TAG_BEHIND ? 0 : write };
                if (IS_MIXED(tag)) one = s->mixed[g - first][k % 8];
                T.mixed[g][k % 8] = one;
            }
            note_parted(g);
        }
        b = next;
    }
}
