/* Saves of registers: a store of what another instance left in a register, until it is restored, read otherwise
 * or overwritten, or its instance ends. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

#define SAVED_GRANULES 9

typedef struct {
    Addr at;
    UInt size, offset, call, actor, next, serial;
    /* `inherited`: the process that this one was forked from has made it, what it read counts there. */
    Bool live, inherited;
    /* Of the granules that its bytes lie in. */
    Tag tag[SAVED_GRANULES];
    /* Of the granule behind them: it may go on with their write. */
    Tag behind;
    Mixed *mixed;
    /* Who has read it: the last one, and others. */
    ULong reader[SAVED_GRANULES];
    struct { UInt granule; Reader by; } *others;
    UInt other_count;
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
    ROOM(saves, save_count, save_room);
    return save_count++;
}

/* Eight cells are of saves, and of one. */
#define SAVE_CELLS (CELL_SAVE * 0x0001000100010001ULL)
static inline Bool is_whole_save(Addr a, UInt number)
{
    const ULong *cells = (const ULong *)cell_of(a), *of = (const ULong *)save_of(a), both = number * 0x100000001ULL;
    return !(~(cells[0] & cells[1]) & SAVE_CELLS) && of[0] == both && of[1] == both && of[2] == both && of[3] == both;
}

/* Its bytes are an ordinary store from here on. */
static void save_is_store(UInt number)
{
    Save *s = saves + number;
    s->live = False;
    if (s->size == 8 && is_whole_save(s->at, number)) {
        ULong *cells = (ULong *)cell_of(s->at);
        cells[0] &= ~SAVE_CELLS;
        cells[1] &= ~SAVE_CELLS;
        return;
    }
    for (UInt i = 0; i < s->size; i++)
        if (*cell_of(s->at + i) & CELL_SAVE && *save_of(s->at + i) == number) *cell_of(s->at + i) &= ~CELL_SAVE;
}

/* ---- who has read what is saved ---- */

static void forget_others(Save *s)
{
    if (s->others) VG_(free)(s->others);
    s->others = NULL;
    s->other_count = 0;
}

static void other_reader(Save *s, UInt g, UInt call, UInt bytes)
{
    for (UInt i = 0; i < s->other_count; i++) {
        if (s->others[i].granule != g || s->others[i].by.call != call) continue;
        s->others[i].by.bytes |= bytes;
        return;
    }
    s->others = VG_(realloc)("addfg.others", s->others, (s->other_count + 1) * sizeof *s->others);
    s->others[s->other_count].granule = g;
    s->others[s->other_count].by.call = call;
    s->others[s->other_count++].by.bytes = bytes;
}

/* What readers of a granule there are is what is saved. */
static void keep_readers(Save *s, UInt g)
{
    UInt others = OTHERS(T.reader[g]);
    s->reader[g - s->offset / 8] = T.reader[g] & ~0xffff0000ULL;
    T.reader[g] |= READ_SAVED;
    const Readers *of = others ? readers_at(register_at(g), False) : NULL;
    for (UInt i = of ? of->first : 0; i; i = readers[i].next)
        if (readers[i].bytes & others) other_reader(s, g, readers[i].call, readers[i].bytes & others);
}

static UInt read_by(const Save *s, UInt g, UInt call)
{
    ULong e = s->reader[g - s->offset / 8];
    UInt bytes = READER(e) == call ? MINE(e) : 0;
    for (UInt i = 0; i < s->other_count; i++)
        if (s->others[i].granule == g && s->others[i].by.call == call) bytes |= s->others[i].by.bytes;
    return bytes;
}

static void note_in_save(Save *s, UInt g, UInt bytes, UInt call)
{
    ULong *e = s->reader + (g - s->offset / 8);
    if (READER(*e) == call) *e |= bytes;
    else if (MINE(*e)) other_reader(s, g, call, bytes);
    else *e = (ULong)call << 32 | bytes;
}

static void give_reader(UInt g, UInt call, UInt bytes)
{
    ULong *e = T.reader + g, at = register_at(g);
    if (!bytes) return;
    if (READER(*e) == call) *e |= bytes;
    else if (!MINE(*e)) *e = (ULong)call << 32 | (*e & (KEPT | 0xff0000)) | bytes | (bytes_of_reader(at, call) & OTHERS(*e));
    else if (is_alive(call)) {
        add_reader(at, call, bytes, OTHERS(*e));
        *e |= (ULong)bytes << 16;
    }
}

/* Bytes of a granule have the readers again that they had. */
static void give_readers(const Save *s, UInt g, UInt bytes)
{
    ULong saved = s->reader[g - s->offset / 8];
    if (bytes == 0xff && !s->other_count) {
        T.reader[g] = saved | READ_SAVED;
        return;
    }
    T.reader[g] &= ~(bytes * 0x10001ULL);
    give_reader(g, READER(saved), MINE(saved) & bytes);
    for (UInt i = 0; i < s->other_count; i++)
        if (s->others[i].granule == g) give_reader(g, s->others[i].by.call, s->others[i].by.bytes & bytes);
    T.reader[g] |= READ_SAVED;
}

static OneByte one_byte(Tag tag, const OneByte *mixed, UInt g, UInt b)
{
    OneByte whole = { tag & ~(Tag)TAG_BEHIND, tag & TAG_BEHIND ? 0 : WHOLE | g };
    return IS_MIXED(tag) ? mixed[b] : whole;
}

/* The bytes of a granule that are of the version that a save has. */
static UInt same_version(const Save *s, UInt g, Tag tag, const OneByte *mixed)
{
    UInt i = g - s->offset / 8, same = 0;
    if (!s->live || g < s->offset / 8 || g > (s->offset + s->size - 1) / 8) return 0;
    if (!((s->tag[i] ^ tag) & ~(Tag)TAG_BEHIND) && !IS_MIXED(tag)) return 0xff;
    for (UInt b = 0; b < 8; b++) {
        OneByte now = one_byte(tag, mixed, g, b), then = one_byte(s->tag[i], s->mixed ? s->mixed[i] : NULL, g, b);
        if (now.tag == then.tag && now.write == then.write) same |= 1u << b;
    }
    return same;
}

/* An instance reads a version: those of the saves from one on that have it know. */
static void read_in_saves(UInt first, UInt g, UInt bytes, UInt call, Tag tag, const OneByte *mixed)
{
    for (UInt i = first; i; i = saves[i].next) {
        UInt same = same_version(saves + i, g, tag, mixed) & bytes;
        if (same) note_in_save(saves + i, g, same, call);
    }
}

static void read_otherwise(UInt g, UInt bytes, UInt call, UInt first)
{
    read_in_saves(first, g, bytes, call, T.tag[g], T.mixed[g]);
}

/* From here on the thread with this `T.serial` runs, as far as the sums know; gives the one that ran. */
static ThreadId sums_runs_serial(UInt serial);

/* What an exposed save has read its instance had not read before: it counts. */
static void count_first_reads(Save *s)
{
    UInt first = s->offset / 8, last = (s->offset + s->size - 1) / 8, depth = 0;
    /* Another thread may expose it. */
    ThreadId now = sums_runs_serial(s->serial);
    while (depth < T.depth && T.frames[depth].call < s->call) depth++;
    for (UInt g = first; g <= last && g - first < SAVED_GRANULES; g++) {
        UInt bytes = bytes_in(g * 8, s->offset, s->offset + s->size), new = bytes & ~read_by(s, g, s->call);
        Tag tag = s->tag[g - first];
        const OneByte *mixed = IS_MIXED(tag) ? s->mixed[g - first] : NULL;
        for (UInt i = 0; i < 8; i++) {
            if (!(bytes >> i & 1)) continue;
            UInt writer = FUNCTION_OF(mixed ? mixed[i].tag : tag);
            Flow *f = flow(writer ? writer : INITIAL, s->actor, 0);
            f->unique += new >> i & 1;
            share_register_of(f, s->serial, g, 1u << i);
        }
        UInt there = T.reader[g] & READ_SAVED ? same_version(s, g, T.tag[g], T.mixed[g]) & bytes : 0;
        if (there) note_reader(T.reader + g, register_at(g), there, s->call);
        for (UInt d = depth; d < T.depth; d++) read_in_saves(T.frames[d].saves, g, bytes, s->call, tag, mixed);
    }
    sums_runs(now);
}

/* ---- their ends ---- */

static void saves_end(UInt first)
{
    while (first) {
        UInt next = saves[first].next;
        if (saves[first].live) save_is_store(first);
        if (saves[first].mixed) VG_(free)(saves[first].mixed);
        saves[first].mixed = NULL;
        forget_others(saves + first);
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
    if (s->inherited) return save_is_store(number);
    Parts p = { 0 };
    Held saved = { s->tag, s->mixed, s->offset / 8 };
    read_parts(&p, &saved, s->offset, s->size);
    for (UInt i = 0; i < p.count; i++) {
        Flow *f = flow(p.of[i].function ? p.of[i].function : INITIAL, s->actor, 0);
        f->bytes += p.of[i].bytes;
        f->transfers++;
    }
    count_first_reads(saves + number);
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
    read_held(&p, offset, size);
    for (UInt i = 0; i < p.count; i++) {
        Flow *f = flow(p.of[i].function ? p.of[i].function : INITIAL, reader, 0);
        f->bytes += p.of[i].bytes;
        f->transfers++;
    }
    read_registers(offset, size, reader, NULL);
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
    Bool again = number && number < save_count && saves[number].at == home_of(a) && saves[number].size == size
        && saves[number].call == top->call;
    if (!again) {
        number = new_save();
        saves[number].next = top->saves;
        top->saves = number;
    }
    Save *s = saves + number;
    s->at = home_of(a);
    s->size = size;
    s->offset = offset;
    s->call = top->call;
    s->actor = top->actor->number;
    s->live = True;
    s->inherited = False;
    s->serial = T.serial;
    forget_others(s);
    for (UInt g = first; g <= last && g - first < SAVED_GRANULES; g++) {
        s->tag[g - first] = T.tag[g];
        keep_readers(s, g);
        if (!IS_MIXED(T.tag[g])) continue;
        if (!s->mixed) s->mixed = VG_(calloc)("addfg.mixed", SAVED_GRANULES, sizeof(Mixed));
        VG_(memcpy)(s->mixed[g - first], T.mixed[g], sizeof(Mixed));
    }
    s->tag[0] &= ~(Tag)TAG_BEHIND;
    s->behind = T.tag[last + 1];
    if (size == 8) {
        ULong *cells = (ULong *)cell_of(a), *of = (ULong *)save_of(a), both = number * 0x100000001ULL;
        cells[0] |= SAVE_CELLS;
        cells[1] |= SAVE_CELLS;
        of[0] = of[1] = of[2] = of[3] = both;
        return;
    }
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
    if (!s->live || s->at != home_of(a) || s->size != size || s->offset != offset || s->call != CALL_OF(T.own)) return 0;
    for (UInt i = 0; i < size; i++)
        if (!(*cell_of(a + i) & CELL_SAVE) || *save_of(a + i) != number) return 0;
    return number;
}

/* The same of eight bytes that one write made, which nobody else has read before: most are so. False: it is something else. */
static Bool give_back_whole(Addr a, UInt offset)
{
    UInt g = offset / 8, number = *save_of(a);
    const Save *s = saves + number;
    if (!s->live || s->at != a || s->size != 8 || s->offset != offset || s->call != CALL_OF(T.own) || !is_whole_save(a, number)) return False;
    Tag tag = s->tag[0], *behind = T.tag + g + 1;
    if (s->other_count || IS_MIXED(tag) || IS_MIXED(T.tag[g])) return False;
    Bool is_there = T.reader[g] & READ_SAVED && !((tag ^ T.tag[g]) & ~(Tag)TAG_BEHIND);
    if (!is_there) T.reader[g] = s->reader[0] | READ_SAVED;
    T.tag[g] = tag;
    if ((*behind ^ s->behind) == TAG_BEHIND) *behind = s->behind;
    return True;
}

/* The register has its old writers again. */
static void give_back(UInt number)
{
    const Save *s = saves + number;
    UInt first = s->offset / 8, end = s->offset + s->size;
    for (UInt b = s->offset; b < end;) {
        UInt g = b / 8, next = (g + 1) * 8 < end ? (g + 1) * 8 : end;
        Tag tag = s->tag[g - first];
        /* It may be there still: who has read it since is known there. */
        UInt same = T.reader[g] & READ_SAVED ? same_version(s, g, T.tag[g], T.mixed[g]) : 0, other = bytes_in(g * 8, b, next) & ~same;
        if (other) give_readers(s, g, other);
        if (next - b == 8 && !IS_MIXED(tag)) {
            T.tag[g] = tag;
        } else {
            expand(g);
            ULong write = ++writes_apart;
            /* What is left there of the write that was saved goes on with it. */
            UInt left = same & ~bytes_in(g * 8, b, next);
            for (UInt k = 0; k < 8; k++)
                if (left >> k & 1) write = T.mixed[g][k].write;
            for (UInt k = b; k < next; k++) {
                OneByte one = { tag & ~(Tag)TAG_BEHIND, tag & TAG_BEHIND ? 0 : write };
                if (IS_MIXED(tag)) one = s->mixed[g - first][k % 8];
                T.mixed[g][k % 8] = one;
            }
            if (IS_MIXED(tag)) T.tag[g] = (T.tag[g] & ~(Tag)TAG_BEHIND) | (tag & TAG_BEHIND);
            note_parted(g);
        }
        b = next;
    }
    Tag *behind = T.tag + (end + 7) / 8;
    if ((*behind ^ s->behind) == TAG_BEHIND) *behind = s->behind;
}

/* ---- what the kernel keeps for a signal's handler ---- */

/* Handlers of a thread that are kept in mind: those that control leaves by a jump never end (`src/analysis/exceptions.rs`). */
#define MOST_SIGNALS 16
/* All registers, in saves that lie nowhere. */
#define KEPT_GRANULES 8
typedef struct {
    UInt serial, save[GRANULES / KEPT_GRANULES];
} Signal;

/* Of all threads, the newest last. */
static Signal *signals;
static UInt signal_count, signal_room;

static void keep_registers(UInt number, UInt first)
{
    Save *s = saves + number;
    s->at = 0;
    s->size = KEPT_GRANULES * 8;
    s->offset = first * 8;
    s->live = True;
    for (UInt g = first; g < first + KEPT_GRANULES; g++) {
        s->tag[g - first] = T.tag[g];
        keep_readers(s, g);
        if (!IS_MIXED(T.tag[g])) continue;
        if (!s->mixed) s->mixed = VG_(calloc)("addfg.mixed", SAVED_GRANULES, sizeof(Mixed));
        VG_(memcpy)(s->mixed[g - first], T.mixed[g], sizeof(Mixed));
    }
    s->behind = T.tag[first + KEPT_GRANULES];
}

static void forget_signal(UInt at)
{
    for (UInt i = 0; i < GRANULES / KEPT_GRANULES; i++) {
        UInt number = signals[at].save[i];
        saves[number].live = False;
        saves[number].next = 0;
        saves_end(number);
    }
    signal_count--;
    for (; at < signal_count; at++) signals[at] = signals[at + 1];
}

/* Places of the newest and the oldest of the running thread; how many there are. */
static UInt signals_of(UInt *newest, UInt *oldest)
{
    UInt count = 0;
    for (UInt i = signal_count; i--;) {
        if (signals[i].serial != T.serial) continue;
        if (!count++) *newest = i;
        *oldest = i;
    }
    return count;
}

static void signal_begins(void)
{
    UInt newest = 0, oldest = 0;
    if (signals_of(&newest, &oldest) == MOST_SIGNALS) forget_signal(oldest);
    ROOM(signals, signal_count, signal_room);
    signals[signal_count].serial = T.serial;
    for (UInt i = 0; i < GRANULES / KEPT_GRANULES; i++) {
        UInt number = new_save();
        signals[signal_count].save[i] = number;
        keep_registers(number, i * KEPT_GRANULES);
    }
    signal_count++;
    /* What the kernel gives the handler in rdx, rsi and rdi no step has written. */
    static const UChar given[] = { 2, 6, 7 };
    for (UInt i = 0; i < sizeof given; i++) T.tag[given[i]] = T.reader[given[i]] = 0;
}

static void signal_ends(void)
{
    UInt newest = 0, oldest = 0;
    if (!signals_of(&newest, &oldest)) return;
    for (UInt i = 0; i < GRANULES / KEPT_GRANULES; i++) give_back(signals[newest].save[i]);
    forget_signal(newest);
}

/* Saves of an instance that a forked process goes on with: nobody has read there. */
static void inherit_saves(UInt first, UInt call)
{
    for (UInt i = first; i; i = saves[i].next) {
        Save *s = saves + i;
        s->call = call;
        s->serial = T.serial;
        s->inherited = True;
        forget_others(s);
        VG_(memset)(s->reader, 0, sizeof s->reader);
    }
}

static void forget_signals(void)
{
    UInt newest = 0, oldest = 0;
    while (signals_of(&newest, &oldest)) forget_signal(newest);
}
