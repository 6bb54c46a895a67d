/* Memory that comes and goes, and memory that files are mapped into: which of it is the same memory at several addresses, is
 * changed through a descriptor, or is taken back. A part of addfg_qemu.c.
 *
 * The rules are those of the recorder for valgrind (its files.h).
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */

/* A file by what the system knows it by; of a segment of System V its number, of shared memory without a name one of our own. */
typedef struct { addfg_u64 device, number; } FileKey;
#define OF_SEGMENT (~0ull)
#define OF_NOTHING (~0ull - 1)

typedef struct {
    addfg_u64 start, end; /* exclusive */
    FileKey key;
    addfg_u64 offset;
    bool shared;
} Mapping;

static Mapping *mappings;
static unsigned mapping_count, mapping_room;
/* Files that have been mapped shared: what is written to them is memory. */
static FileKey *shared_keys;
static unsigned shared_key_count, shared_key_room;

/* Whole pages are mapped. */
static addfg_u64 pages(addfg_u64 bytes) { return (bytes + 4095) & ~(addfg_u64)4095; }

static bool same_file(FileKey a, FileKey b) { return a.device == b.device && a.number == b.number; }

static void add_mapping(Mapping m)
{
    if (mapping_count == mapping_room) {
        Mapping *more = realloc(mappings, (mapping_room = 2 * mapping_count + 16) * sizeof *more);
        if (!more) return;
        mappings = more;
    }
    mappings[mapping_count++] = m;
}

/* Nothing of a file lies there any more, or something else does. */
static void cut_mappings(addfg_u64 start, addfg_u64 end)
{
    for (unsigned i = mapping_count; i-- > 0;) {
        Mapping m = mappings[i], below = m, above = m;
        if (m.end <= start || m.start >= end) continue;
        mappings[i] = mappings[--mapping_count];
        below.end = start;
        above.start = end;
        above.offset += end - m.start;
        /* The pieces are at the end, and not within. */
        if (below.start < below.end) add_mapping(below);
        if (above.start < above.end) add_mapping(above);
    }
}

static const Mapping *mapping_at(addfg_u64 address)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (address >= mappings[i].start && address < mappings[i].end) return mappings + i;
    return NULL;
}

/* Memory that may change by a store at another address, or by a write to its file. */
static bool is_shared_memory(addfg_u64 address)
{
    const Mapping *m = mapping_at(address);
    return m && m->shared;
}

static bool is_shared_file(FileKey key)
{
    for (unsigned i = 0; i < shared_key_count; i++)
        if (same_file(shared_keys[i], key)) return true;
    return false;
}

static void file_mapped(Mapping m)
{
    cut_mappings(m.start, m.end);
    add_mapping(m);
    if (!m.shared) return;
    addfg_u64 values[5] = { m.start, m.end - m.start, m.key.device, m.key.number, m.offset };
    event(ADDFG_SHARE, values, 5, NULL);
    if (is_shared_file(m.key)) return;
    if (shared_key_count == shared_key_room) {
        FileKey *more = realloc(shared_keys, (shared_key_room = 2 * shared_key_count + 16) * sizeof *more);
        if (!more) return;
        shared_keys = more;
    }
    shared_keys[shared_key_count++] = m.key;
}

static bool key_of_descriptor(int fd, FileKey *key, addfg_u64 *size)
{
    struct stat file;
    if (fstat(fd, &file)) return false;
    *key = (FileKey){ file.st_dev, file.st_ino };
    *size = (addfg_u64)file.st_size;
    return true;
}

/* ---- what comes, goes and moves ---- */

/* Bytes are as new: nobody has written what is there. */
static void fresh(addfg_u64 start, addfg_u64 end)
{
    addfg_u64 values[2] = { start, end - start };
    if (start < end) event(ADDFG_FRESH, values, 2, NULL);
}

/* The end of the program's data: what it gives back is new when it gets it again. */
static void tell_break(addfg_u64 now)
{
    static addfg_u64 before;
    fresh(now, before);
    before = now;
}

static void map_call(const OpenCall *c)
{
    static addfg_u64 nameless;
    const addfg_u64 *a = c->argument;
    char path[4096];
    addfg_u64 start = c->result, bytes = pages(a[1]), offset = is_named(c->rule, "mmap2") ? a[5] << 12 : a[5], size;
    addfg_u64 values[4] = { start, bytes, (a[2] & 1) << 2 | (a[2] & 2) | (a[2] >> 2 & 1), offset };
    bool named = !(a[3] & 0x20); /* MAP_ANONYMOUS */
    const char *file = named ? file_of(a[4], path) : NULL;
    event(ADDFG_MAP, values, 4, file ? file : "");
    Mapping m = { start, start + bytes, { OF_NOTHING, 0 }, offset, (a[3] & MAP_SHARED) != 0 };
    named = named && key_of_descriptor((int)a[4], &m.key, &size);
    if (!named) {
        m.offset = 0;
        m.key = (FileKey){ OF_NOTHING, (addfg_u64)own_pid << 32 | ++nameless };
    }
    if (named || m.shared) file_mapped(m);
    else cut_mappings(m.start, m.end);
}

static void unmap_call(addfg_u64 start, addfg_u64 bytes)
{
    addfg_u64 values[2] = { start, pages(bytes) };
    cut_mappings(start, start + values[1]);
    event(ADDFG_UNMAP, values, 2, NULL);
}

static void remap_call(const addfg_u64 *a, addfg_u64 to)
{
    addfg_u64 from = a[0], before = pages(a[1]), now = pages(a[2]);
    const Mapping *of = mapping_at(from);
    Mapping m = of ? *of : (Mapping){ 0 };
    cut_mappings(from, from + before);
    cut_mappings(to, to + now);
    addfg_u64 move[3] = { from, to, least(before, now) }, gone[2] = { from + now, before - now };
    addfg_u64 more[4] = { to + before, now - before, 6, 0 };
    if (to != from) event(ADDFG_MOVE, move, 3, NULL);
    if (now < before) event(ADDFG_UNMAP, gone, 2, NULL);
    if (now > before) event(ADDFG_MAP, more, 4, "");
    m.offset += from - m.start;
    m.start = to;
    m.end = to + now;
    if (of) file_mapped(m);
}

/* shmat and shmdt: a segment of System V. */
static void segment_call(addfg_u64 id, addfg_u64 at)
{
    struct shmid_ds segment;
    if (shmctl((int)id, IPC_STAT, &segment)) return;
    addfg_u64 values[4] = { at, pages(segment.shm_segsz), 6, 0 };
    event(ADDFG_MAP, values, 4, "");
    file_mapped((Mapping){ at, at + values[1], { OF_SEGMENT, id }, 0, true });
}

static void detach_call(addfg_u64 at)
{
    const Mapping *m = mapping_at(at);
    if (m && m->start == at && m->key.device == OF_SEGMENT) unmap_call(at, m->end - at);
}

/* ---- what is taken back ---- */

/* Bytes of a file from an offset up to another are gone. `private`: with what a private mapping has of its own of whole pages. */
static void file_lost(FileKey key, addfg_u64 from, addfg_u64 to, bool private)
{
    for (unsigned i = 0; i < mapping_count; i++) {
        Mapping m = mappings[i];
        addfg_u64 first = m.shared ? from : pages(from), end = least(m.offset + (m.end - m.start), to);
        if (!same_file(m.key, key) || (!m.shared && !private)) continue;
        if (first < m.offset) first = m.offset;
        if (first < end) fresh(m.start + (first - m.offset), m.start + (end - m.offset));
    }
}

/* `fallocate`: holes and zeros. What a private mapping has of its own stays, unless pages behind it get another place. */
static void allocate_call(int fd, addfg_u64 mode, addfg_u64 offset, addfg_u64 length)
{
    enum { PUNCH_HOLE = 2, COLLAPSE = 8, ZERO = 16, INSERT = 32 };
    FileKey key;
    addfg_u64 size;
    bool shifts = mode & (COLLAPSE | INSERT);
    if (!(shifts || mode & (PUNCH_HOLE | ZERO)) || !mapping_count || !key_of_descriptor(fd, &key, &size)) return;
    file_lost(key, offset, shifts ? ~0ull : offset + length, shifts);
}

static void truncate_call(int fd)
{
    FileKey key;
    addfg_u64 size;
    if (mapping_count && key_of_descriptor(fd, &key, &size)) file_lost(key, size, ~0ull, true);
}

static void truncate_path(addfg_u64 text)
{
    char path[4096] = "";
    struct stat file;
    unsigned length = guest_read_some(text, path, sizeof path - 1);
    if (!mapping_count || !length || stat(path, &file)) return;
    file_lost((FileKey){ file.st_dev, file.st_ino }, (addfg_u64)file.st_size, ~0ull, true);
}

/* The first page of a range that is memory of the host's now, by what the system says of each; the range's end if none is.
 * Those of shared mappings do not count. */
static addfg_u64 first_present(addfg_u64 at, addfg_u64 end)
{
    addfg_u64 page[512];
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return end;
    while (at < end) {
        addfg_u64 count = least((end - at) >> 12, COUNT(page)), i = 0;
        ssize_t bytes = (ssize_t)(count * sizeof *page);
        if (pread(fd, page, (size_t)bytes, (off_t)((guest_base + at) >> 12 << 3)) != bytes) at = end;
        for (; at < end && i < count; i++, at += 4096) {
            if (page[i] >> 62 && !is_shared_memory(at)) break; /* it is there, or swapped out */
        }
        if (i < count) break;
    }
    close(fd);
    return at;
}

/* A page that `madvise` is to take back, 0 if none is there. QEMU does it for all of them, or for none, and does not say so. */
static addfg_u64 page_to_take_back(const OpenCall *c)
{
    addfg_u64 start = c->argument[0], end = start + pages(c->argument[1]), at;
    if (!guest_known || !is_named(c->rule, "madvise") || c->argument[2] != MADV_DONTNEED) return 0;
    at = first_present(start, end);
    return at < end ? at : 0;
}

/* `madvise`: all of anonymous memory, what a private mapping has of its own. Shared memory stays what it is. */
static void advise_call(const OpenCall *c)
{
    addfg_u64 at = c->argument[0], end = at + pages(c->argument[1]);
    if (c->argument[2] != MADV_DONTNEED) return;
    if (guest_known && (!c->taken_back || first_present(c->taken_back, c->taken_back + 4096) == c->taken_back)) return;
    while (at < end) {
        addfg_u64 next = end;
        bool shared = false;
        for (unsigned i = 0; i < mapping_count && !shared; i++) {
            const Mapping *m = mappings + i;
            if (!m->shared || m->end <= at || m->start >= next) continue;
            shared = m->start <= at;
            next = shared ? least(m->end, end) : m->start;
        }
        if (!shared) fresh(at, next);
        at = next;
    }
}

/* ---- what is written to a file that is memory, too ---- */

#define NOWHERE (~0ull)

/* Where in a file a call has just written; `said`: where it says; `flags`: of pwritev2. */
static addfg_u64 written_at(int fd, addfg_u64 size, addfg_u64 said, addfg_u64 bytes, addfg_u64 flags)
{
    enum { APPEND = 0x10, NOAPPEND = 0x20 };
    bool appends = fcntl(fd, F_GETFL) & O_APPEND && !(flags & NOAPPEND);
    if (appends || flags & APPEND) return size - bytes;
    return said != NOWHERE ? said : (addfg_u64)lseek(fd, 0, SEEK_CUR) - bytes;
}

/* A position in two arguments of 32 bits, or one of 64. ARM has numbers of 64 bits in an even register and the next one. */
static addfg_u64 position_in(const OpenCall *c, unsigned from, bool aligned)
{
    if (!bits32) return c->argument[from];
    if (arm && aligned) from += from & 1;
    return (addfg_u32)c->argument[from] | (from + 1 < ARGUMENTS ? c->argument[from + 1] << 32 : 0);
}

/* Where the position behind it stands. */
static addfg_u64 position_before(addfg_u64 pointer, addfg_u64 bytes)
{
    addfg_u64 behind;
    return pointer && guest_read(pointer, &behind, 8) ? behind - bytes : NOWHERE;
}

/* A clone of a file: bytes of another one, of all of it or from where a structure says. */
static void tell_clone(const OpenCall *c)
{
    enum { CLONE = 0x40049409, CLONE_RANGE = 0x4020940d };
    FileKey key;
    addfg_u64 size, range[4] = { 0 };
    addfg_u32 request = (addfg_u32)c->argument[1];
    if (request != CLONE && request != CLONE_RANGE) return;
    if (!shared_key_count || !key_of_descriptor((int)c->argument[0], &key, &size) || !is_shared_file(key)) return;
    if (request == CLONE_RANGE && !guest_read(c->argument[2], range, sizeof range)) return;
    addfg_u64 values[5] = { key.device, key.number, range[3], range[2] ? range[2] : size - range[3], 0 };
    if (values[3]) event(ADDFG_FILE_WRITE, values, 5, NULL);
}

static void tell_file_write(const OpenCall *c)
{
    static const char *const whole[] = { "write", "pwrite64", NULL }, *const parts[] = { "writev", "pwritev", "pwritev2", NULL };
    static const char *const first[] = { "sendfile", "sendfile64", NULL }, *const third[] = { "splice", "copy_file_range", NULL };
    const addfg_u64 *a = c->argument;
    bool in_parts = is_one_of(c->rule, parts), copies_first = is_one_of(c->rule, first), copies = copies_first || is_one_of(c->rule, third);
    if (!shared_key_count || !c->result || !(in_parts || copies || is_one_of(c->rule, whole))) return;
    int fd = (int)(copies && !copies_first ? a[2] : a[0]);
    FileKey key;
    addfg_u64 size, said = NOWHERE, left = c->result;
    if (!key_of_descriptor(fd, &key, &size) || !is_shared_file(key)) return;
    bool second = is_named(c->rule, "pwritev2");
    if (is_named(c->rule, "pwrite64")) said = position_in(c, 3, true);
    else if (second || is_named(c->rule, "pwritev")) said = position_in(c, 3, false); /* of pwritev2 -1 is no position */
    else if (copies && !copies_first) said = position_before(a[3], left);
    addfg_u64 at = written_at(fd, size, said, left, second ? a[5] : 0);
    for (addfg_u64 k = 0; left; k++) {
        addfg_u64 from = copies ? 0 : in_parts ? word_at(a[1] + 2 * k * word_size()) : a[1];
        addfg_u64 bytes = in_parts ? least(word_at(a[1] + (2 * k + 1) * word_size()), left) : left;
        addfg_u64 values[5] = { key.device, key.number, at, bytes, from };
        if (bytes) event(ADDFG_FILE_WRITE, values, 5, NULL);
        at += bytes;
        left -= bytes;
        if (in_parts && k >= a[2]) return;
    }
}

/* ---- all of it ---- */

/* What a call that did not fail did to the program's memory as a whole. */
static void tell_effect(const OpenCall *c)
{
    const addfg_u64 *a = c->argument;
    if (is_named(c->rule, "brk")) return tell_break(c->result);
    if (is_named(c->rule, "mremap")) return remap_call(a, c->result);
    if (is_named(c->rule, "shmat")) return segment_call(a[0], c->result ? c->result : word_at(a[3])); /* ipc leaves it there */
    if (is_named(c->rule, "shmdt")) return detach_call(a[0]);
    if (is_named(c->rule, "madvise")) return advise_call(c);
    if (is_named(c->rule, "munmap")) return unmap_call(a[0], a[1]);
    if (is_named(c->rule, "mmap") || is_named(c->rule, "mmap2")) return map_call(c);
    if (is_named(c->rule, "ftruncate") || is_named(c->rule, "ftruncate64")) return truncate_call((int)a[0]);
    if (is_named(c->rule, "truncate") || is_named(c->rule, "truncate64")) return truncate_path(a[0]);
    if (is_named(c->rule, "fallocate")) return allocate_call((int)a[0], a[1], position_in(c, 2, true), position_in(c, bits32 ? 4 : 3, true));
    addfg_u64 flags = is_named(c->rule, "open") ? a[1] : is_named(c->rule, "openat") ? a[2] : is_named(c->rule, "openat2") ? word_at(a[2])
        : is_named(c->rule, "creat") ? O_TRUNC : 0;
    if (flags & O_TRUNC) return truncate_call((int)c->result);
    if (is_named(c->rule, "ioctl")) return tell_clone(c);
    tell_file_write(c);
}
