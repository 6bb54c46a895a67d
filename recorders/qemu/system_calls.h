/* What system calls read and write in the program's memory, by the rules of system_calls.def. A part of addfg_qemu.c.
 *
 * What is read is told when the call begins, as its lengths and texts are then; data and what is written, when it has returned.
 * What a call changed right behind one of its arguments and no rule told is found by comparison, whichever call it is.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */

typedef struct {
    const char *name;
    int number[5];
    const char *rule;
} CallRule;

/* Beside it, where an argument has a value. */
typedef struct {
    const char *name;
    unsigned argument;
    addfg_u32 mask, value;
    const char *rule;
} CaseRule;

typedef struct {
    const char *name, *bytes[5];
} TypeRule;

#define CALL(name, x86_64, x86, arm, wide, narrow, rule) { #name, { x86_64, x86, arm, wide, narrow }, rule },
#define WHEN(name, argument, mask, value, rule)
#define TYPE(name, x86_64, x86, arm, wide, narrow)
static const CallRule call_rules[] = {
#include "system_calls.def"
};
#undef CALL
#undef WHEN
#define CALL(name, x86_64, x86, arm, wide, narrow, rule)
#define WHEN(name, argument, mask, value, rule) { #name, argument, mask, value, rule },
static const CaseRule case_rules[] = {
#include "system_calls.def"
};
#undef WHEN
#undef TYPE
#define WHEN(name, argument, mask, value, rule)
#define TYPE(name, x86_64, x86, arm, wide, narrow) { #name, { x86_64, x86, arm, wide, narrow } },
static const TypeRule type_rules[] = {
#include "system_calls.def"
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The column of the tables. */
static unsigned column;

#define CALLS 1024
static const CallRule *rule_of[CALLS];
/* Of each rule: the cases that may hold, from the first on to the last. */
static struct { unsigned first, end; } cases_of[COUNT(call_rules)];

#define ARGUMENTS 6
/* Of what is behind an argument this much is compared. */
#define KEPT 256
#define MOST_PARTS 1024

typedef struct {
    addfg_u64 at;
    unsigned size;
    addfg_u8 bytes[KEPT];
} Kept;

/* A call that has not returned. */
typedef struct {
    const CallRule *rule;
    addfg_u64 number, argument[ARGUMENTS];
    /* When nobody else has run since, what has changed is the kernel's. */
    addfg_u64 progress;
    bool changes_memory, returns_later;
    Kept kept[ARGUMENTS];
    /* Messages as they were, of calls that take several. */
    addfg_u8 *heads;
    addfg_u32 head_count;
    /* Its arguments in memory, and their bytes. */
    addfg_u64 lists[2];
    /* A page that `madvise` is to take back, if there is one (files.h). */
    addfg_u64 taken_back;
    /* Once it has returned. */
    addfg_u64 result;
} OpenCall;

static addfg_u32 word_size(void) { return bits32 ? 4 : 8; }

static addfg_u64 least(addfg_u64 a, addfg_u64 b) { return a < b ? a : b; }

/* ---- numbers ---- */

static void find_rules(void)
{
    for (unsigned i = 0; i < COUNT(call_rules); i++) {
        int number = call_rules[i].number[column];
        if (number >= 0 && number < CALLS) rule_of[number] = call_rules + i;
        for (unsigned k = 0; k < COUNT(case_rules); k++) {
            if (strcmp(case_rules[k].name, call_rules[i].name)) continue;
            if (!cases_of[i].end) cases_of[i].first = k;
            cases_of[i].end = k + 1;
        }
    }
}

static const CallRule *rule_named(const char *name)
{
    for (unsigned i = 0; i < COUNT(call_rules); i++)
        if (!strcmp(call_rules[i].name, name) && call_rules[i].rule[0] != 'D') return call_rules + i;
    return NULL;
}

static bool is_named(const CallRule *rule, const char *name) { return rule && !strcmp(rule->name, name); }

static bool is_one_of(const CallRule *rule, const char *const *names)
{
    for (; rule && *names; names++)
        if (!strcmp(rule->name, *names)) return true;
    return false;
}

/* ---- the program's memory ---- */

/* So much as is there, page by page. */
static unsigned guest_read_some(addfg_u64 address, void *to, unsigned bytes)
{
    if (!guest_known) return 0;
    unsigned first = (unsigned)least(bytes, 4096 - ((guest_base + address) & 4095));
    struct iovec local = { to, bytes };
    struct iovec remote[2] = { { (void *)(uintptr_t)(guest_base + address), first },
                               { (void *)(uintptr_t)(guest_base + address + first), bytes - first } };
    ssize_t n = process_vm_readv(own_pid, &local, 1, remote, first < bytes ? 2 : 1, 0);
    return n > 0 ? (unsigned)n : 0;
}

static addfg_u32 u32_at(addfg_u64 address)
{
    addfg_u32 value = 0;
    guest_read(address, &value, 4);
    return value;
}

static addfg_u64 word_at(addfg_u64 address)
{
    addfg_u64 value = 0;
    guest_read(address, &value, word_size());
    return value;
}

/* How many of these bytes are there; of very many the ends are looked at. */
static addfg_u64 readable(addfg_u64 address, addfg_u64 bytes)
{
    addfg_u8 byte;
    if (!guest_known) return bytes;
    if (bytes > 1 << 20) return guest_read(address, &byte, 1) && guest_read(address + bytes - 1, &byte, 1) ? bytes : 0;
    for (addfg_u64 at = 0; at < bytes; at += 4096 - ((address + at) & 4095))
        if (!guest_read(address + at, &byte, 1)) return at;
    return bytes;
}

/* A text with its end. */
static addfg_u64 text_bytes(addfg_u64 address, addfg_u64 most)
{
    char part[KEPT];
    for (addfg_u64 n = 0; n < most;) {
        unsigned room = (unsigned)least(least(sizeof part, most - n), 4096 - ((address + n) & 4095));
        unsigned got = guest_read_some(address + n, part, room);
        unsigned length = (unsigned)strnlen(part, got);
        n += length;
        if (length < got) return n + 1;
        if (got < room) return n;
    }
    return most;
}

/* ---- telling ---- */

static void tell_range(OpenCall *c, bool writes, addfg_u64 address, addfg_u64 bytes, bool structure)
{
    if (bits32) address = (addfg_u32)address;
    if (!address || !bytes) return;
    if (!writes) bytes = readable(address, least(bytes, 1ull << 31));
    addfg_u64 values[3] = { address, bytes, structure };
    if (!bytes) return;
    event(writes ? ADDFG_KERNEL_WRITE : ADDFG_KERNEL_READ, values, 3, NULL);
    /* What was told has not changed in silence. */
    for (unsigned i = 0; writes && i < ARGUMENTS; i++) {
        Kept *k = c->kept + i;
        addfg_u64 from = address > k->at ? address : k->at, to = least(address + bytes, k->at + k->size);
        if (from < to) guest_read_some(from, k->bytes + (from - k->at), (unsigned)(to - from));
    }
}

static void tell_unknown(const OpenCall *c)
{
    /* Once of each number, and of each way to use it. */
    static addfg_u64 said[64];
    static unsigned count;
    const addfg_u64 *a = c->argument;
    addfg_u64 way = c->number << 40 ^ (c->rule ? (addfg_u32)a[1] << 8 ^ (addfg_u32)a[0] : 0), warning = 1;
    char text[256], name[64];
    for (unsigned i = 0; i < count; i++)
        if (said[i] == way) return;
    if (count == COUNT(said)) return;
    said[count++] = way;
    if (c->rule) snprintf(name, sizeof name, "%s (0x%x, 0x%x, ...)", c->rule->name, (addfg_u32)a[0], (addfg_u32)a[1]);
    else snprintf(name, sizeof name, "%llu", c->number);
    snprintf(text, sizeof text, "unknown system call %s: of what it reads and writes only what changed in the first %u bytes at its arguments is known", name, KEPT);
    event(ADDFG_PROBLEM, &warning, 1, text);
}

/* ---- messages ---- */

typedef struct {
    addfg_u64 name, vectors, count, control, control_length;
    addfg_u32 name_length;
} Head;

static unsigned head_size(void) { return 7 * word_size(); }
static unsigned message_size(void) { return 8 * word_size(); }

static Head head_of(const addfg_u8 *bytes)
{
    unsigned w = word_size();
    Head h = { 0 };
    memcpy(&h.name, bytes, w);
    memcpy(&h.name_length, bytes + w, 4);
    memcpy(&h.vectors, bytes + 2 * w, w);
    memcpy(&h.count, bytes + 3 * w, w);
    memcpy(&h.control, bytes + 4 * w, w);
    memcpy(&h.control_length, bytes + 5 * w, w);
    return h;
}

/* The buffers of a call of `done` bytes. */
static void tell_vectors(OpenCall *c, bool writes, addfg_u64 list, addfg_u64 count, addfg_u64 done)
{
    unsigned w = word_size();
    for (addfg_u64 i = 0; i < count && i < MOST_PARTS && done; i++) {
        addfg_u64 bytes = least(word_at(list + 2 * w * i + w), done);
        tell_range(c, writes, word_at(list + 2 * w * i), bytes, false);
        done -= bytes;
    }
}

/* Before it is sent or received: the message and its list; a name and control data that are sent. */
static void tell_head_read(OpenCall *c, addfg_u64 address, const addfg_u8 *bytes, bool sends)
{
    Head h = head_of(bytes);
    tell_range(c, false, address, head_size() - (bits32 ? 0 : 4), true);
    tell_range(c, false, h.vectors, least(h.count, MOST_PARTS) * 2 * word_size(), true);
    if (!sends) return;
    tell_range(c, false, h.name, h.name_length, true);
    tell_range(c, false, h.control, h.control_length, true);
}

/* Each message of a message's control data, without what is between two. */
static void tell_control(OpenCall *c, addfg_u64 control, addfg_u64 bytes)
{
    unsigned w = word_size(), head = w + 8;
    for (addfg_u64 at = 0; at + head <= bytes;) {
        addfg_u64 length = word_at(control + at);
        if (length < head) return;
        tell_range(c, true, control + at, least(length, bytes - at), true);
        at += (length + w - 1) & ~(addfg_u64)(w - 1);
    }
}

/* `before`: the message as it was. */
static void tell_head_written(OpenCall *c, addfg_u64 address, const addfg_u8 *before, addfg_u64 done)
{
    addfg_u8 bytes[56];
    unsigned w = word_size();
    if (!guest_read(address, bytes, head_size())) return;
    Head was = head_of(before), now = head_of(bytes);
    tell_vectors(c, true, was.vectors, was.count, done);
    if (was.name) {
        tell_range(c, true, was.name, least(was.name_length, now.name_length), true);
        tell_range(c, true, address + w, 4, true);
    }
    tell_control(c, was.control, least(was.control_length, now.control_length));
    tell_range(c, true, address + 5 * w, w, true);
    tell_range(c, true, address + 6 * w, 4, true);
}

static void keep_heads(OpenCall *c, addfg_u64 address, addfg_u64 count)
{
    c->head_count = 0;
    count = least(count, MOST_PARTS);
    c->heads = realloc(c->heads, count * message_size() + 1);
    if (c->heads && guest_read(address, c->heads, count * message_size())) c->head_count = (addfg_u32)count;
}

/* ---- rules ---- */

/* What is told of the rule's words. */
typedef enum { BEGIN, DATA_READ, WRITTEN, INTERRUPTED } Phase;

static const char *type_bytes(const char *name, size_t length)
{
    for (unsigned i = 0; i < COUNT(type_rules); i++)
        if (strlen(type_rules[i].name) == length && !strncmp(type_rules[i].name, name, length)) return type_rules[i].bytes[column];
    return NULL;
}

/* A number, words of the program or a structure, whose parts may be asked for; *end: behind it. 0: it is none of these. */
static addfg_u64 unit(const char *at, const char **end, const char **parts)
{
    *parts = NULL;
    char *behind = (char *)at;
    addfg_u64 n = strtoull(at, &behind, 10);
    if (behind == at) n = 1;
    if (*behind == 'p' && !strchr("abcdefghijklmnopqrstuvwxyz_", behind[1] ? behind[1] : ' ')) {
        *end = behind + 1;
        return n * word_size();
    }
    if (behind != at) {
        *end = behind;
        return n;
    }
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    const char *bytes = type_bytes(at, length);
    if (!bytes) return 0;
    *end = at + length;
    if (!strchr(bytes, '+')) return strtoull(bytes, NULL, 10);
    *parts = bytes;
    const char *last = strrchr(bytes, ',');
    addfg_u64 from = strtoull(last ? last + 1 : bytes, &behind, 10);
    return from + strtoull(behind + 1, NULL, 10);
}

static void tell_units(OpenCall *c, bool writes, addfg_u64 address, addfg_u64 count, addfg_u64 bytes, const char *parts, bool structure)
{
    if (!writes || !parts) {
        tell_range(c, writes, address, count * bytes, structure);
        return;
    }
    /* Structures without their holes. */
    for (addfg_u64 i = 0; address && i < count && i < MOST_PARTS; i++) {
        for (const char *at = parts;; at++) {
            char *end;
            addfg_u64 from = strtoull(at, &end, 10), size = strtoull(end + 1, &end, 10);
            tell_range(c, true, address + i * bytes + from, size, structure);
            at = end;
            if (*at != ',') break;
        }
    }
}

/* `kind`: where an entry's kind stands; 0: at its end. */
static void tell_entries(OpenCall *c, addfg_u64 at, addfg_u64 bytes, unsigned kind)
{
    unsigned head = 2 * (kind ? 8 : word_size()), name = head + (kind ? 3 : 2);
    for (addfg_u64 end = at + bytes; at + name < end;) {
        addfg_u32 length = u32_at(at + head) & 0xffff;
        if (length < name || length > end - at) return;
        addfg_u64 size = text_bytes(at + name, length - name);
        tell_range(c, true, at, least(name + size, length), false);
        if (!kind && name + size < length) tell_range(c, true, at + length - 1, 1, false);
        at += length;
    }
}

static void tell_texts(OpenCall *c, addfg_u64 list)
{
    unsigned w = word_size(), i = 0;
    for (; list && i < 1 << 16; i++) {
        addfg_u64 text = word_at(list + i * w);
        if (!text) break;
        tell_range(c, false, text, text_bytes(text, 1 << 17), true);
    }
    tell_range(c, false, list, (i + 1) * w, true);
}

/* Semaphores of a set: the system itself says how many. */
static addfg_u64 semaphores(addfg_u64 id)
{
    struct semid_ds set;
    union { int value; struct semid_ds *set; } of = { .set = &set };
    return semctl((int)id, 0, IPC_STAT, of) < 0 ? 0 : set.sem_nsems;
}

static bool is_zero(const Kept *k, addfg_u64 bytes)
{
    for (addfg_u64 i = 0; i < bytes && i < k->size; i++)
        if (k->bytes[i]) return false;
    return true;
}

static addfg_u32 kept_u32(const OpenCall *c, unsigned argument, unsigned offset)
{
    addfg_u32 value = 0;
    if (offset + 4 <= c->kept[argument].size) memcpy(&value, c->kept[argument].bytes + offset, 4);
    return value;
}

/* What a signal comes with, by its number and where it is from. */
static void tell_signal(OpenCall *c, addfg_u64 at)
{
    addfg_u32 w = word_size(), more = w == 8 ? 16 : 12, number = u32_at(at);
    int from = (int)u32_at(at + 8);
    bool of_process = from == 0 || from == 128 || from == -6; /* SI_USER, SI_KERNEL, SI_TKILL */
    tell_range(c, true, at, 12, true);
    if (of_process) tell_range(c, true, at + more, 8, true);
    else if (number == 17) { /* SIGCHLD: status, and times behind it */
        tell_range(c, true, at + more, 12, true);
        tell_range(c, true, at + (w == 8 ? 32 : 24), 2 * w, true);
    } else if (number == 29) tell_range(c, true, at + more, w + 4, true); /* SIGIO */
    else tell_range(c, true, at + more, 8 + w, true);
}

/* One word of a rule. */
static void take_word(OpenCall *c, const char *word, Phase phase)
{
    const addfg_u64 *a = c->argument;
    const char *end, *parts;
    if (*word == '?') {
        if (phase != BEGIN && !c->result) return;
        word++;
    }
    char what = *word;
    bool wanted = phase == BEGIN ? what == 'r' : phase == DATA_READ ? what == 'R' : phase == INTERRUPTED ? what == 'i'
                : what == 'w' || what == 'W' || what == 't';
    if (!wanted || word[2] != '=') return;
    bool writes = phase == WRITTEN || phase == INTERRUPTED, structure = what != 'R' && what != 'W' && !is_named(c->rule, "ioctl");
    unsigned n = (unsigned)(word[1] - '0');
    addfg_u64 address = a[n], bytes = 0;
    word += 3;
    unsigned m = word[1] >= '0' && word[1] <= '5' ? (unsigned)(word[1] - '0') : ARGUMENTS;
    if (!address) return;
    bool one = !word[1] || word[1] == ' ', two = m < ARGUMENTS && (!word[2] || word[2] == ' ');
    if (*word == '#' || *word == '$') {
        bytes = *word == '#' ? a[m] : m < ARGUMENTS ? least(c->result, a[m]) : c->result;
        if (*word == '#' && bits32) bytes = (addfg_u32)bytes;
        word += m < ARGUMENTS ? 2 : 1;
        addfg_u64 size = 1;
        parts = NULL;
        if (*word == '*') size = unit(word + 1, &end, &parts);
        else if (*word == '+') bytes += word_size();
        if (bytes > 1ull << 32) return;
        tell_units(c, writes, address, bytes, size, parts, structure);
        return;
    }
    if (one) {
        switch (*word) {
        case 's':
            return tell_range(c, writes, address, text_bytes(address, 4096), structure);
        case 'z':
            return tell_range(c, writes, address, least(text_bytes(address, 16), 16), structure);
        case 'a':
            return tell_texts(c, address);
        case 'm':
            if (phase == BEGIN) tell_head_read(c, address, c->kept[n].bytes, is_named(c->rule, "sendmsg"));
            else if (phase == DATA_READ) {
                Head h = head_of(c->kept[n].bytes);
                tell_vectors(c, false, h.vectors, h.count, c->result);
            } else tell_head_written(c, address, c->kept[n].bytes, c->result);
            return;
        case 'k': {
            tell_range(c, false, address, 2 * word_size(), true);
            addfg_u64 at = word_at(address), length = word_at(address + word_size());
            return tell_range(c, false, at, least(length, 4096), true);
        }
        case 'd':
            return tell_entries(c, address, c->result, 0);
        case 'e':
            return tell_entries(c, address, c->result, 18);
        case 'q':
            return tell_range(c, writes, address, kept_u32(c, 0, 0) == 0x19980330 ? 12 : 24, structure);
        case 'h':
            return tell_range(c, writes, address, 8 + kept_u32(c, n, 0), structure);
        case 'n':
            return tell_range(c, writes, address, 2 * semaphores(a[0]), structure);
        case 'o':
            return tell_signal(c, address);
        case 'j': {
            /* The interfaces' names and addresses, as far as they were asked for. */
            addfg_u64 list = 0, each = bits32 ? 32 : 40, length = u32_at(address);
            memcpy(&list, c->kept[n].bytes + word_size(), word_size());
            tell_range(c, true, address, 4, structure);
            for (addfg_u64 at = 0; list && at + 32 <= length; at += each) tell_range(c, true, list + at, 32, structure);
            return;
        }
        case 'x': {
            /* Extents of a file. */
            addfg_u32 found = u32_at(address + 20), room = u32_at(address + 24);
            tell_range(c, true, address, 32, structure);
            return tell_range(c, true, address + 32, room ? 56ull * found : 0, structure);
        }
        }
    }
    if (two) {
        addfg_u32 bits = 8 * word_size();
        switch (*word) {
        case '@':
            if (writes) tell_range(c, true, address, least(kept_u32(c, m, 0), u32_at(a[m])), structure);
            return tell_range(c, writes, a[m], 4, structure);
        case 'v':
            return tell_vectors(c, writes, address, a[m], c->result);
        case 'n':
            for (addfg_u32 i = 0; i < c->head_count && (phase == BEGIN || i < c->result); i++) {
                addfg_u64 at = address + (addfg_u64)i * message_size();
                const addfg_u8 *head = c->heads + (size_t)i * message_size();
                addfg_u32 length = u32_at(at + head_size());
                if (phase == BEGIN) tell_head_read(c, at, head, is_named(c->rule, "sendmmsg"));
                else if (phase == DATA_READ) {
                    Head h = head_of(head);
                    tell_vectors(c, false, h.vectors, h.count, length);
                    tell_range(c, true, at + head_size(), 4, true);
                } else {
                    tell_head_written(c, at, head, length);
                    tell_range(c, true, at + head_size(), 4, true);
                }
            }
            return;
        case 'f':
            if ((int)a[m] <= 0) return;
            return tell_range(c, writes, address, ((addfg_u32)a[m] + bits - 1) / bits * word_size(), structure);
        case 'r':
            for (addfg_u64 i = 0; i < a[m] && i < 1 << 20; i++) tell_range(c, true, address + 8 * i + 6, 2, structure);
            return;
        case 'b':
            return tell_range(c, writes, address, (least(a[m], 1 << 20) + bits - 1) / bits * word_size(), structure);
        case 'g':
            return tell_range(c, writes, address, (a[m] + 4095) / 4096, structure);
        case 'u':
            return tell_range(c, writes, address, u32_at(address + m), structure);
        }
    }
    bytes = unit(word, &end, &parts);
    if (what == 't' && is_zero(c->kept + n, bytes)) return;
    tell_units(c, writes, address, 1, bytes, parts, structure);
}

static void take_rule(OpenCall *c, const char *rule, Phase phase)
{
    for (const char *word = rule; *word;) {
        take_word(c, word, phase);
        const char *space = strchr(word, ' ');
        if (!space) break;
        word = space + 1;
    }
}

/* Whether the size that a request of ioctl has in itself tells what it moves. */
static bool take_request(OpenCall *c, Phase phase)
{
    addfg_u32 request = (addfg_u32)c->argument[1], size = request >> 16 & 0x3fff;
    if (!(request >> 30) || !size) return false;
    if (phase == BEGIN && request >> 30 & 1) tell_range(c, false, c->argument[2], size, false);
    if (phase == WRITTEN && request >> 31) tell_range(c, true, c->argument[2], size, false);
    return true;
}

/* False: it is not known. */
static bool take_rules(OpenCall *c, Phase phase)
{
    bool known = false;
    if (!c->rule) return false;
    take_rule(c, c->rule->rule, phase);
    size_t number = (size_t)(c->rule - call_rules);
    for (unsigned i = cases_of[number].first; i < cases_of[number].end; i++) {
        const CaseRule *r = case_rules + i;
        if (strcmp(r->name, c->rule->name) || ((addfg_u32)c->argument[r->argument] & r->mask) != r->value) continue;
        known = true;
        take_rule(c, r->rule, phase);
    }
    return known || c->rule->rule[0] != '~' || (is_named(c->rule, "ioctl") && take_request(c, phase));
}

/* ---- calls within calls ---- */

/* Calls of 32-bit x86 whose arguments stand in memory, or in another order: numbers of `socketcall` and `ipc`, old `select` and `mmap`. */
static void unpack(OpenCall *c)
{
    static const struct { const char *name; unsigned arguments; } sockets[] = { { NULL, 0 }, { "socket", 3 }, { "bind", 3 }, { "connect", 3 },
        { "listen", 2 }, { "accept", 3 }, { "getsockname", 3 }, { "getpeername", 3 }, { "socketpair", 4 }, { "send", 4 }, { "recv", 4 },
        { "sendto", 6 }, { "recvfrom", 6 }, { "shutdown", 2 }, { "setsockopt", 5 }, { "getsockopt", 5 }, { "sendmsg", 3 }, { "recvmsg", 3 },
        { "accept4", 4 }, { "recvmmsg", 5 }, { "sendmmsg", 4 } };
    /* By the order of the four arguments behind the number. */
    static const struct { const char *name; addfg_u8 number, order[4]; } others[] = {
        { "semop", 1, { 1, 4, 2, 5 } }, { "semget", 2, { 1, 2, 3, 4 } }, { "semctl", 3, { 1, 2, 3, 4 } }, { "semtimedop", 4, { 1, 4, 2, 5 } },
        { "msgsnd", 11, { 1, 4, 2, 3 } }, { "msgrcv", 12, { 1, 4, 2, 3 } }, { "msgget", 13, { 1, 2, 3, 4 } }, { "msgctl", 14, { 1, 2, 4, 3 } },
        { "shmat", 21, { 1, 4, 2, 3 } }, { "shmdt", 22, { 4, 1, 2, 3 } }, { "shmget", 23, { 1, 2, 3, 4 } }, { "shmctl", 24, { 1, 2, 4, 3 } } };
    addfg_u64 *a = c->argument, given[ARGUMENTS], number = a[0] & 0xffff;
    char form = c->rule->rule[1];
    memcpy(given, a, sizeof given);
    memset(a, 0, sizeof given);
    c->rule = NULL;
    if (form == '4') {
        for (unsigned i = 0; i < COUNT(others); i++) {
            if (others[i].number != number) continue;
            c->rule = rule_named(others[i].name);
            for (unsigned k = 0; k < 4; k++) a[k] = given[others[i].order[k]];
            /* The message's address stands in memory, beside its kind; what semctl is given does, too. */
            unsigned stands = number == 3 ? 3 : number == 12 && !(given[0] >> 16) ? 1 : ARGUMENTS;
            if (stands == ARGUMENTS) continue;
            c->lists[0] = given[4];
            c->lists[1] = (number == 3 ? 1 : 2) * word_size();
            a[stands] = word_at(given[4]);
        }
        return;
    }
    bool of_sockets = form == '1';
    if (of_sockets && (number == 0 || number >= COUNT(sockets))) return;
    unsigned count = of_sockets ? sockets[number].arguments : (unsigned)(form - '0');
    c->rule = rule_named(of_sockets ? sockets[number].name : count == 5 ? "_newselect" : "mmap");
    c->lists[0] = given[of_sockets];
    c->lists[1] = count * word_size();
    for (unsigned i = 0; i < count; i++) a[i] = word_at(c->lists[0] + i * word_size());
}

/* ---- threads ---- */

enum { MADE_VM = 0x100, MADE_PIDFD = 0x1000, MADE_PARENT = 0x100000, MADE_CLEARED = 0x200000, MADE_CHILD = 0x1000000 };

/* Where a thread's number is cleared when it ends, by the thread. */
static struct { pid_t task; addfg_u64 at; } *cleared;
static unsigned cleared_count, cleared_room;

static void note_cleared(pid_t task, addfg_u64 at)
{
    unsigned i = 0;
    while (i < cleared_count && cleared[i].task != task) i++;
    if (i == cleared_room) {
        void *more = realloc(cleared, (cleared_room = 2 * i + 16) * sizeof *cleared);
        if (!more) return;
        cleared = more;
    }
    if (i == cleared_count) cleared_count++;
    cleared[i].task = task;
    cleared[i].at = at;
}

/* What clone asked for, and where. */
typedef struct { addfg_u64 flags, parent, child, descriptor; } Made;

static Made made_of(const OpenCall *c)
{
    const addfg_u64 *a = c->argument;
    Made m = { 0 };
    if (is_named(c->rule, "clone")) m = (Made){ a[0], a[2], a[c->rule->rule[1] - '0'], a[2] };
    if (is_named(c->rule, "clone3") && guest_read(a[0], &m.flags, 8)) {
        guest_read(a[0] + 8, &m.descriptor, 8);
        guest_read(a[0] + 16, &m.child, 8);
        guest_read(a[0] + 24, &m.parent, 8);
    }
    return m;
}

static void tell_made(OpenCall *c)
{
    Made m = made_of(c);
    /* QEMU does not write it where the child has memory of its own. */
    if (m.flags & MADE_PARENT && u32_at(m.parent) == (addfg_u32)c->result) tell_range(c, true, m.parent, 4, true);
    if (m.flags & MADE_PIDFD) tell_range(c, true, m.descriptor, 4, true);
    if (m.flags & MADE_CHILD && m.flags & MADE_VM) tell_range(c, true, m.child, 4, true);
    if (m.flags & MADE_CLEARED && m.flags & MADE_VM) note_cleared((pid_t)c->result, m.child);
}

/* Where this thread's number is cleared, 0 if it is not. `open`: calls, so many. */
static addfg_u64 take_cleared(OpenCall *const *open, unsigned count)
{
    pid_t task = gettid();
    for (unsigned i = 0; i < cleared_count; i++) {
        if (cleared[i].task != task) continue;
        addfg_u64 at = cleared[i].at;
        cleared[i] = cleared[--cleared_count];
        return at;
    }
    /* Who made it has not come back yet. */
    for (unsigned i = 0; i < count; i++) {
        Made m = open[i] && open[i]->returns_later ? made_of(open[i]) : (Made){ 0 };
        if (m.flags & MADE_CLEARED && m.flags & MADE_VM && u32_at(m.child) == (addfg_u32)task) return m.child;
    }
    return 0;
}

/* A thread that has begun finds its number where clone was to leave it: the parent may come back later. */
static void tell_number(OpenCall *const *open, unsigned count)
{
    addfg_u32 task = (addfg_u32)gettid();
    for (unsigned i = 0; i < count; i++) {
        Made m = open[i] && open[i]->returns_later ? made_of(open[i]) : (Made){ 0 };
        addfg_u64 at[2] = { m.flags & MADE_PARENT ? m.parent : 0, m.flags & MADE_CHILD ? m.child : 0 };
        for (unsigned k = 0; k < 2; k++) {
            addfg_u64 values[2] = { at[k], 4 };
            if (m.flags & MADE_VM && at[k] && u32_at(at[k]) == task && !(k && at[1] == at[0])) event(ADDFG_KERNEL_WRITE, values, 2, NULL);
        }
    }
}

/* ---- begin and end ---- */

/* Whose arguments are memory that comes, goes or is another process's. */
static const char *const memory_calls[] = { "mmap", "mmap2", "munmap", "mremap", "madvise", "mprotect", "brk", "shmat", "shmdt", "fork", "vfork",
    "clone", "clone3", "execve", "execveat", "exit", "exit_group", "rt_sigreturn", "sigreturn", "io_submit", NULL };

static void keep_arguments(OpenCall *c)
{
    c->changes_memory = is_one_of(c->rule, memory_calls);
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        Kept *k = c->kept + i;
        k->at = c->argument[i];
        /* What a rule knows as a number is none; of what is not known all may be. */
        char named[3] = { (char)('0' + i), '=', 0 }, length[3] = { '@', (char)('0' + i), 0 };
        const char *rule = c->rule ? c->rule->rule : "~";
        bool used = *rule == '~' || strstr(rule, named) || strstr(rule, length);
        k->size = k->at < 4096 || !used ? 0 : guest_read_some(k->at, k->bytes, KEPT);
    }
}

/* What is other than it was at the arguments, and was not told. */
static void tell_changed(OpenCall *c)
{
    addfg_u8 now[KEPT];
    if (c->changes_memory || c->progress != progress) return;
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        const Kept *k = c->kept + i;
        unsigned size = k->size ? guest_read_some(k->at, now, k->size) : 0;
        for (unsigned from = 0; from < size;) {
            unsigned to = from;
            while (to < size && now[to] != k->bytes[to]) to++;
            if (to > from) tell_range(c, true, k->at + from, to - from, false);
            from = to + 1;
        }
    }
}

/* Takes a call's number and arguments; false: of one call that is many, and has them now. */
static bool call_unpacks(OpenCall *c, int64_t number, const addfg_u64 *argument)
{
    c->number = (addfg_u64)number;
    c->rule = c->number < CALLS ? rule_of[number] : NULL;
    memcpy(c->argument, argument, sizeof c->argument);
    c->progress = progress;
    c->result = 0;
    for (unsigned i = 0; i < ARGUMENTS; i++) c->kept[i].size = 0;
    c->lists[0] = c->lists[1] = 0;
    bool is_plain = !c->rule || c->rule->rule[0] != 'D';
    if (!is_plain) unpack(c);
    return is_plain;
}

/* Tells what it reads. */
static void call_begins(OpenCall *c)
{
    static bool said;
    addfg_u64 warning = 1;
    if (!guest_known && !said) {
        said = true;
        event(ADDFG_PROBLEM, &warning, 1, "the program's memory was not found in QEMU's: texts, lists and lengths that system calls use are not known");
    }
    c->returns_later = true;
    /* Out of a pipe, into memory. */
    bool out = is_named(c->rule, "vmsplice") && (fcntl((int)c->argument[0], F_GETFL) & O_ACCMODE) == O_RDONLY;
    if (out) c->rule = rule_named("readv");
    keep_arguments(c);
    if (c->rule && strstr(c->rule->rule, "1=n2")) keep_heads(c, c->argument[1], (addfg_u32)c->argument[2]);
    tell_range(c, false, c->lists[0], c->lists[1], true);
    take_rules(c, BEGIN);
}

static void call_returns(OpenCall *c, bool failed, addfg_u64 result)
{
    c->returns_later = false;
    c->result = failed ? 0 : result;
    bool of_processor = arm && c->number >> 4 == 0xf000; /* ARM's own: of caches and of the thread's pointer */
    if (failed) {
        if (result == EINTR) take_rules(c, INTERRUPTED);
    } else {
        take_rules(c, DATA_READ);
        if (!take_rules(c, WRITTEN) && !of_processor) tell_unknown(c);
        if (c->rule && (c->rule->rule[0] == 'c' || is_named(c->rule, "clone3"))) tell_made(c);
    }
    tell_changed(c);
}
