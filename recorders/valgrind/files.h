/* Memory that files are mapped into: which of it is the same memory at several addresses, or is changed
 * through a descriptor, and which of it the kernel takes back. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* A file by what the system knows it by. */
typedef struct {
    ULong device, number;
} FileKey;

/* Keys of what has no file: System V's segments, and shared memory without a name. */
#define OF_SEGMENT (~0ULL)
#define OF_NOTHING (~0ULL - 1)

/* Sums of data flow (sums_shared.h). */
static void sums_share(Addr start, Addr end, FileKey key, ULong offset);
static void sums_file_write(FileKey key, ULong offset, ULong bytes, Addr from);

typedef struct {
    Addr start, end; /* exclusive */
    FileKey key;
    ULong offset;
    Bool shared;
} Mapping;

static Mapping *mappings;
static UInt mapping_count, mapping_room;
/* Files that have been mapped shared: what is written to them is memory. */
static FileKey *shared_keys;
static UInt shared_key_count, shared_key_room;
/* Shared memory without a name, counted. */
static ULong nameless;
/* Bytes of such files that are gone, where the program has none of them mapped: what it maps there next is new. */
typedef struct {
    FileKey key;
    ULong from, to; /* exclusive */
} Lost;
static Lost *lost;
static UInt lost_count, lost_room;
/* Memory that is mapped may have no pages, and cannot be read. */
static Bool lacks_pages = False;
/* A process that is forked may have zeros where its parent has something. */
static Bool wipes_on_fork = False;

static Bool same_file(FileKey a, FileKey b) { return a.device == b.device && a.number == b.number; }

static void add_mapping(Mapping m)
{
    ROOM(mappings, mapping_count, mapping_room);
    mappings[mapping_count++] = m;
}

/* Nothing of a file lies there any more, or something else does. */
static void cut_mappings(Addr start, Addr end)
{
    for (UInt i = 0; i < mapping_count; i++) {
        Mapping m = mappings[i];
        if (m.end <= start || m.start >= end) continue;
        mappings[i--] = mappings[--mapping_count];
        Mapping below = m, above = m;
        below.end = start;
        above.start = end;
        above.offset += end - m.start;
        if (below.start < below.end) add_mapping(below);
        if (above.start < above.end) add_mapping(above);
        /* The pieces are at the end, and not within. */
    }
}

/* Whether the program's memory can be read: behind the end of a mapped file, and of shared memory that has grown, nothing is, though
 * it is mapped; nor where the program has asked the kernel for that. The kernel says so of a byte of each page. */
static Bool readable(Addr a, SizeT size)
{
    Bool may_end = lacks_pages;
    if (!VG_(am_is_valid_for_client)(a, size, VKI_PROT_READ)) return False;
    for (UInt i = 0; i < mapping_count && !may_end; i++) may_end = mappings[i].start < a + size && mappings[i].end > a;
    for (Addr at = a; may_end && at < a + size; at = (at | (VKI_PAGE_SIZE - 1)) + 1) {
        UChar byte;
        struct vki_iovec to = { &byte, 1 }, from = { (void *)at, 1 };
        SysRes read = VG_(do_syscall)(__NR_process_vm_readv, VG_(getpid)(), (UWord)&to, 1, (UWord)&from, 1, 0, 0, 0);
        if (sr_isError(read) && sr_Err(read) == VKI_EFAULT) return False;
    }
    return True;
}

/* Memory that may change by a store at another address, or by a write to its file. */
static Bool is_shared_memory(Addr address)
{
    for (UInt i = 0; i < mapping_count; i++)
        if (mappings[i].shared && address >= mappings[i].start && address < mappings[i].end) return True;
    return False;
}

static void tell_shared(const Mapping *m)
{
    EVENT(ADDFG_SHARE, m->start, m->end - m->start, m->key.device, m->key.number, m->offset);
    sums_share(m->start, m->end, m->key, m->offset);
}

static Bool is_shared_file(FileKey key)
{
    for (UInt i = 0; i < shared_key_count; i++)
        if (same_file(shared_keys[i], key)) return True;
    return False;
}

static void fresh(Addr start, Addr end);

static void add_lost(FileKey key, ULong from, ULong to)
{
    if (from >= to) return;
    /* A file that grows again and again is one of these. */
    for (UInt i = 0; i < lost_count; i++) {
        if (!same_file(lost[i].key, key) || lost[i].to != from || lost[i].from == from) continue;
        lost[i].to = to;
        return;
    }
    ROOM(lost, lost_count, lost_room);
    Lost new = { key, from, to };
    lost[lost_count++] = new;
}

/* Bytes of a file are there again, or were told. */
static void cut_lost(FileKey key, ULong from, ULong to)
{
    for (UInt i = 0, count = lost_count; i < count; i++) {
        Lost l = lost[i];
        if (!same_file(l.key, key) || l.to <= from || l.from >= to) continue;
        lost[i].to = lost[i].from;
        if (l.from < from) lost[i].to = from;
        add_lost(key, to, l.to);
    }
    for (UInt i = 0; i < lost_count; i++)
        while (i < lost_count && lost[i].from >= lost[i].to) lost[i] = lost[--lost_count];
}

static void file_mapped(Mapping m)
{
    cut_mappings(m.start, m.end);
    add_mapping(m);
    if (!m.shared) return;
    tell_shared(&m);
    ULong end = m.offset + (m.end - m.start);
    for (UInt i = 0; i < lost_count; i++) {
        ULong from = lost[i].from > m.offset ? lost[i].from : m.offset, to = lost[i].to < end ? lost[i].to : end;
        if (same_file(lost[i].key, m.key) && from < to) fresh(m.start + (from - m.offset), m.start + (to - m.offset));
    }
    cut_lost(m.key, m.offset, end);
    if (is_shared_file(m.key)) return;
    ROOM(shared_keys, shared_key_count, shared_key_room);
    shared_keys[shared_key_count++] = m.key;
}

static void tell_all_shared(void)
{
    for (UInt i = 0; i < mapping_count; i++)
        if (mappings[i].shared) tell_shared(mappings + i);
}

/* Files that have been mapped shared, by the system's numbers: a file that is removed leaves its number to others. */
typedef struct {
    FileKey key;
    ULong began, others;
} KnownFile;
static KnownFile *known_files;
static UInt known_file_count, known_file_room;

/* When a file began, as far as the system says. `path`: NULL: it is the descriptor's. */
static ULong began(Int fd, Addr path)
{
#ifdef __NR_statx
    enum { EMPTY_PATH = 0x1000, BEGAN = 0x800 };
    /* `struct statx`: what is told, and when the file began. */
    static ULong told[32];
    SysRes r = VG_(do_syscall)(__NR_statx, fd, path ? path : (Addr)"", path ? 0 : EMPTY_PATH, BEGAN, (Addr)told, 0, 0, 0);
    if (!sr_isError(r) && told[0] & BEGAN) return told[10] * 1000000000 + (UInt)told[11];
#endif
    return 0;
}

/* The number that a file is told by: another one for each that has had the system's number since the first. `maps`: from now on it
 * is known. */
static void number_file(FileKey *key, Int fd, Addr path, Bool maps)
{
    UInt i = 0;
    while (i < known_file_count && !same_file(known_files[i].key, *key)) i++;
    if (i == known_file_count && !maps) return;
    ULong at = began(fd, path);
    if (i == known_file_count) {
        KnownFile new = { *key, at, 0 };
        ROOM(known_files, i, known_file_room);
        known_files[known_file_count++] = new;
    }
    KnownFile *f = known_files + i;
    if (at && f->began != at) {
        f->began = at;
        f->others++;
    }
    key->number ^= f->others * 0x9e3779b97f4a7c15ULL;
}

static Bool key_of_descriptor(Int fd, FileKey *key, ULong *size, Bool maps)
{
    enum { KIND = 0170000, DEVICE = 0020000, ZERO = 0x105 };
    struct vg_stat stat;
    if (VG_(fstat)(fd, &stat)) return False;
    /* Each mapping of /dev/zero is memory of its own; what the kernel makes without a file has the same number for all. */
    if ((stat.mode & KIND) == DEVICE && stat.rdev == ZERO) return False;
    key->device = stat.dev;
    key->number = stat.mode & KIND ? stat.ino : stat.ino ^ (ULong)(fd + 1) << 40;
    number_file(key, fd, 0, maps);
    *size = stat.size;
    return True;
}

/* Bytes are as new: nobody has written what is there. */
static void fresh(Addr start, Addr end)
{
    if (start >= end) return;
    EVENT(ADDFG_FRESH, start, end - start);
    sums_fresh(start, end - start);
    check_mapped(start, end - start);
}

/* Bytes of a file from an offset up to another are gone. `private`: with what a private mapping has of its own of whole
 * pages. */
static void file_lost(FileKey key, ULong from, ULong to, Bool private)
{
    if (is_shared_file(key)) {
        cut_lost(key, from, to);
        add_lost(key, from, to);
    }
    for (UInt i = 0; i < mapping_count; i++) {
        const Mapping *m = mappings + i;
        ULong end = m->offset + (m->end - m->start), first = from;
        if (!same_file(m->key, key) || (!m->shared && !private)) continue;
        if (!m->shared) first = VG_PGROUNDUP(from);
        if (first < m->offset) first = m->offset;
        if (end > to) end = to;
        if (first < end) fresh(m->start + (first - m->offset), m->start + (end - m->offset));
        if (m->shared && first < end) cut_lost(key, first, end);
    }
}

static void map_call(const UWord *args, Addr start, ULong unit)
{
    Mapping m = { start, start + VG_PGROUNDUP(args[1]), { OF_NOTHING, 0 }, (ULong)args[5] * unit, False };
    UWord flags = args[3];
    ULong size;
    m.shared = (flags & VKI_MAP_SHARED) != 0;
    Bool of_file = !(flags & VKI_MAP_ANONYMOUS) && key_of_descriptor((Int)args[4], &m.key, &size, m.shared);
    if (!of_file) {
        m.offset = 0;
        m.key.number = (ULong)VG_(getpid)() << 32 | ++nameless;
    }
    if (of_file || m.shared) file_mapped(m);
    else cut_mappings(m.start, m.end);
}

static void remap_call(const UWord *args, Addr to)
{
    Addr from = args[0];
    SizeT before = VG_PGROUNDUP(args[1]), now = VG_PGROUNDUP(args[2]);
    for (UInt i = 0; i < mapping_count; i++) {
        Mapping m = mappings[i];
        if (from < m.start || from >= m.end) continue;
        m.offset += from - m.start;
        cut_mappings(from, from + before);
        m.start = to;
        m.end = to + now;
        file_mapped(m);
        return;
    }
    cut_mappings(to, to + now);
}

/* What `madvise` takes back: all of anonymous memory, what a private mapping has of its own. `error`: it ended with that; what
 * stands before had been done. */
static void advise_call(Addr start, SizeT length, UWord advice, UWord error)
{
    enum { DONTNEED = 4, FREE = 8, REMOVE = 9, DONTFORK = 10, WIPEONFORK = 18, DONTNEED_LOCKED = 24, POISON = 100, GUARD = 102 };
    lacks_pages |= advice == DONTFORK || advice == POISON || advice == GUARD;
    wipes_on_fork |= advice == WIPEONFORK && !error;
    if (advice != DONTNEED && advice != FREE && advice != REMOVE && advice != DONTNEED_LOCKED && advice != GUARD) return;
    Addr end = start + VG_PGROUNDUP(length);
    /* Where something is that is not shared and writable, it goes no further. */
    if (error && error != VKI_ENOMEM) {
        Addr at = start;
        while (at < end && (is_shared_memory(at) ? VG_(am_is_valid_for_client)(at, 1, VKI_PROT_WRITE)
                                                 : !VG_(am_is_valid_for_client)(at, 1, VKI_PROT_NONE))) at += VKI_PAGE_SIZE;
        end = at;
    }
    /* The kernel may take back pages that are free whenever it likes. It is done now: what is read later is what
     * the recording says. */
    if (advice == FREE) VG_(do_syscall)(__NR_madvise, start, end - start, DONTNEED, 0, 0, 0, 0, 0);
    Addr at = start;
    while (at < end) {
        /* Shared memory stays what it is, unless it is cut out of its file. */
        Addr next = end;
        Bool shared = False;
        for (UInt i = 0; i < mapping_count; i++) {
            const Mapping *m = mappings + i;
            if (!m->shared || m->end <= at || m->start >= next) continue;
            shared = m->start <= at;
            next = shared ? (m->end < end ? m->end : end) : m->start;
            if (shared) break;
        }
        if (!shared || advice == REMOVE) fresh(at, next);
        at = next;
    }
}

/* A line of `/proc/self/smaps`: a mapping, or what is so of the one before. */
static void note_wiped(const HChar *line)
{
    static Addr start, end;
    HChar *behind;
    if (!VG_(strncmp)(line, "VmFlags:", 8)) {
        if (VG_(strstr)(line, " wf")) fresh(start, end);
        return;
    }
    Addr low = VG_(strtoull16)(line, &behind);
    if (behind == line || *behind != '-') return;
    start = low;
    end = VG_(strtoull16)(behind + 1, NULL);
}

/* A process was forked: the kernel knows which of its memory is wiped (MADV_WIPEONFORK), wherever that has been moved. */
static void memory_wiped(void)
{
    HChar line[256], text[4096];
    UInt length = 0;
    Int n;
    if (!wipes_on_fork) return;
    SysRes opened = VG_(open)("/proc/self/smaps", VKI_O_RDONLY, 0);
    if (sr_isError(opened)) {
        VG_(umsg)("addfg: without /proc/self/smaps it is not known what fork has wiped: process %d seems to have what its parent wrote there\n",
                  VG_(getpid)());
        return;
    }
    while ((n = VG_(read)(sr_Res(opened), text, sizeof text)) > 0) {
        for (Int i = 0; i < n; i++) {
            if (text[i] != '\n' && length < sizeof line - 1) line[length++] = text[i];
            if (text[i] != '\n') continue;
            line[length] = 0;
            length = 0;
            note_wiped(line);
        }
    }
    VG_(close)(sr_Res(opened));
}

/* `fallocate`: holes and zeros. What a private mapping has of its own stays, unless pages behind it get another place. */
static void allocate_call(Int fd, UWord mode, ULong offset, ULong length)
{
    enum { PUNCH_HOLE = 2, COLLAPSE = 8, ZERO = 16, INSERT = 32 };
    FileKey key;
    ULong size;
    if (!(mode & (PUNCH_HOLE | COLLAPSE | ZERO | INSERT)) || !key_of_descriptor(fd, &key, &size, False)) return;
    Bool shifts = (mode & (COLLAPSE | INSERT)) != 0;
    file_lost(key, offset, shifts ? ~0ULL : offset + length, shifts);
}

static void truncate_call(Int fd)
{
    FileKey key;
    ULong size;
    if ((mapping_count || shared_key_count) && key_of_descriptor(fd, &key, &size, False)) file_lost(key, size, ~0ULL, True);
}

static void truncate_path(Addr path)
{
    struct vg_stat stat;
    if ((!mapping_count && !shared_key_count) || sr_isError(VG_(stat)((const HChar *)path, &stat))) return;
    FileKey key = { stat.dev, stat.ino };
    number_file(&key, VKI_AT_FDCWD, path, False);
    file_lost(key, stat.size, ~0ULL, True);
}

static void segment_call(UWord id, Addr start)
{
    const NSegment *s = VG_(am_find_nsegment)(start);
    if (!s || s->start != start) return;
    Mapping m = { start, s->end + 1, { OF_SEGMENT, id }, 0, True };
    file_mapped(m);
}

/* Memory that a system call gave, took back, or gave again. `result`: of one that has failed, its error. */
static void memory_call(UInt number, const UWord *args, UWord result)
{
    switch (number) {
#ifdef __NR_mmap
    case __NR_mmap:
        return map_call(args, result, 1);
#endif
#ifdef __NR_mmap2
    case __NR_mmap2:
        return map_call(args, result, 4096);
#endif
    case __NR_munmap:
        return cut_mappings(args[0], args[0] + VG_PGROUNDUP(args[1]));
    case __NR_mremap:
        return remap_call(args, result);
    case __NR_madvise:
        return advise_call(args[0], args[1], args[2], result);
    case __NR_ftruncate:
#ifdef __NR_ftruncate64
    case __NR_ftruncate64:
#endif
        return truncate_call((Int)args[0]);
    case __NR_truncate:
#ifdef __NR_truncate64
    case __NR_truncate64:
#endif
        return truncate_path(args[0]);
#ifdef __NR_open
    case __NR_open:
        if (args[1] & VKI_O_TRUNC) truncate_call((Int)result);
        return;
#endif
#ifdef __NR_creat
    case __NR_creat:
        return truncate_call((Int)result);
#endif
    case __NR_openat:
        if (args[2] & VKI_O_TRUNC) truncate_call((Int)result);
        return;
#ifdef __NR_shmat
    case __NR_shmat:
        return segment_call(args[0], result);
    case __NR_shmdt:
        for (UInt i = 0; i < mapping_count; i++)
            if (mappings[i].start == args[0] && mappings[i].key.device == OF_SEGMENT) return cut_mappings(args[0], mappings[i].end);
        return;
#endif
    case __NR_fallocate:
        if (sizeof(UWord) == 8) allocate_call((Int)args[0], args[1], args[2], args[3]);
        else allocate_call((Int)args[0], args[1], args[2] | (ULong)args[3] << 32, args[4] | (ULong)args[5] << 32);
        return;
    }
}

/* ---- what is written to a file that is memory, too ---- */

/* Where in a file what a call has just written there begins; `position`: what the call says, ~0 if nothing; `flags`: of pwritev2. */
static ULong written_at(Int fd, ULong size, ULong position, ULong bytes, UWord flags)
{
    enum { APPEND = 0x10, NOAPPEND = 0x20 };
    Bool appends = (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND) && !(flags & NOAPPEND);
    if (appends || flags & APPEND) return size - bytes;
    if (position != ~0ULL) return position;
    return (ULong)VG_(lseek)(fd, 0, VKI_SEEK_CUR) - bytes;
}

/* Whether what is written to a descriptor is memory; where, if so. */
static Bool is_memory(Int fd, ULong position, ULong bytes, UWord flags, FileKey *key, ULong *offset)
{
    ULong size;
    if (!shared_key_count || !bytes || !key_of_descriptor(fd, key, &size, False) || !is_shared_file(*key)) return False;
    *offset = written_at(fd, size, position, bytes, flags);
    cut_lost(*key, *offset, *offset + bytes);
    return True;
}
