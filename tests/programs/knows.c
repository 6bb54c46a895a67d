/* A random program that knows its own data flow: knows SEED FOLDER [MODE [OPS]].
 *
 * Functions write bytes of their own tag, files hold tags of theirs, pipes and sockets carry tags of theirs, and every reader
 * counts the tags that it finds (knows.h). FOLDER/report says at the end who read how many bytes of whom: what addfg must say.
 * Nothing of it is foreseen, all is counted while it runs: threads, signals and short writes may do as they like.
 *
 * MODE: `all`; `plain`, what the plugin for QEMU tells of; `still`, whose system calls are the same in every run; `follow`, `all`
 * whose children report, too. OPS, `3,7-20,41`, are the operations that are run: each has its own random numbers, so that what
 * the others do stays nearly the same. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "knows.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ACTORS = 5, REGIONS = 48, PAGES = 64, CHANNELS = 96, NAMES = 512, ROWS = 512, KNOWN = 2048,
       MOST = 600 /* bytes at once */, FILES = 6 };

/* ---- random numbers ---- */

typedef struct { uint64_t state; } Random;

static uint64_t next(Random *random)
{
    uint64_t x = random->state;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return random->state = x;
}

static unsigned below(Random *random, unsigned n) { return (unsigned)(next(random) >> 33) % n; }
static int chance(Random *random, unsigned percent) { return below(random, 100) < percent; }

static Random of_seed(uint64_t seed)
{
    Random random = { (seed + 1) * 0x9e3779b97f4a7c15u | 1 };
    for (int i = 0; i < 4; i++) next(&random);
    return random;
}

/* Nothing is mapped there. */
static byte *volatile nowhere = (byte *)8;

static void give_up(const char *what)
{
    fprintf(stderr, "knows: %s: %s\n", what, strerror(errno));
    exit(100);
}

#define MUST(call) do { if ((long)(call) == -1) give_up(#call); } while (0)

/* ---- names of those who write and who read ---- */

static uint64_t seed;
static const char *folder;
static int plain, still, follow;

static char names[NAMES][48];
static int name_count;
/* Who wrote bytes of a tag, where nothing else is said. */
static short of_tag[256];
static short uninitialised, fill_file_name;
/* Of readers and copiers; those of what the kernel reads are made as they are needed. */
static short r_name[READERS], c_name[COPIERS], handler_name[2];

static short new_name(const char *format, int n)
{
    if (name_count == NAMES) give_up("too many names");
    snprintf(names[name_count], sizeof names[0], format, n);
    return (short)name_count++;
}

static void name_all(void)
{
    of_tag[0] = -1;
    for (int i = 1; i < 256; i++) of_tag[i] = -2;
    uninitialised = new_name("<uninitialised>", 0);
    fill_file_name = new_name("fill_file", 0);
    for (int i = 0; i < WRITERS; i++) of_tag[OF_WRITER + i] = new_name("w_%02d", i);
    for (int i = 0; i < READERS; i++) r_name[i] = new_name("r_%02d", i);
    for (int i = 0; i < COPIERS; i++) of_tag[OF_COPIER + i] = c_name[i] = new_name("c_%02d", i);
    for (int i = 0; i < 2; i++) of_tag[OF_HANDLER + i] = new_name("handler_w_%d", i);
    for (int i = 0; i < 2; i++) handler_name[i] = new_name("handler_r_%d", i);
    of_tag[OF_CHILD] = new_name("child_w", 0);
    of_tag[OF_CONSTANTS] = new_name("<image .tags_constant>", 0);
    of_tag[OF_DATA] = new_name("<image .tags>", 0);
}

/* ---- what was counted: by who did it, the main thread, others, and their handlers ---- */

typedef struct { unsigned key, count; } Known;

static Known known[2 * ACTORS][KNOWN];

static void book(int actor, short reader, short writer, unsigned count)
{
    if (writer < 0) give_up("a tag that nobody writes");
    unsigned key = (unsigned)reader << 16 | (unsigned)writer, at = key * 2654435761u >> 21;
    for (unsigned tries = 0; tries < KNOWN; tries++, at = (at + 1) % KNOWN) {
        Known *k = &known[actor][at];
        if (k->count && k->key != key) continue;
        k->key = key;
        k->count += count;
        return;
    }
    give_up("too many pairs");
}

/* By the program's own stores: a library's may be of kinds that are not told of. */
static void clear(unsigned *row)
{
    for (int tag = 0; tag < 256; tag++) ((volatile unsigned *)row)[tag] = 0;
}

/* A row of tags; `zero` wrote what holds 0, `all` all of it if it is a name. */
static void book_row(int actor, short reader, const unsigned *row, short zero, short all)
{
    for (int tag = 0; tag < 256; tag++)
        if (row[tag]) book(actor, reader, all >= 0 ? all : tag ? of_tag[tag] : zero, row[tag]);
}

static int threads, operations;

static void report(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) give_up(path);
    fprintf(file, "run\t%d\t%d\n", threads, operations);
    for (int actor = 0; actor < 2 * ACTORS; actor++)
        for (int i = 0; i < KNOWN; i++) {
            Known *k = &known[actor][i];
            if (k->count) fprintf(file, "expect\t%s\t%s\t%u\n", names[k->key & 0xffff], names[k->key >> 16], k->count);
        }
    fclose(file);
}

/* ---- memory ---- */

typedef enum { HEAP, HEAP_BIG, ANONYMOUS, BREAK, STACK, GLOBAL, PRIVATE_FILE, SHARED } Kind;

typedef struct {
    Kind kind;
    byte *at;
    size_t size;
    /* The same memory at another address. */
    byte *alias;
    int file;
    /* Who is said to have written bytes that hold 0, by page; -1: none do. */
    short zero[PAGES];
    /* A thread does something to it, or waits to. */
    int busy;
} Region;

static Region regions[REGIONS];

/* A piece of a region. */
typedef struct { Region *region; byte *at; size_t n; short zero; } Piece;

static size_t up(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

static Region *new_region(Kind kind, void *at, size_t size, short zero)
{
    for (int i = 0; i < REGIONS; i++) {
        Region *r = &regions[i];
        if (r->at) continue;
        memset(r, 0, sizeof *r);
        r->kind = kind, r->at = at, r->size = size, r->file = -1;
        for (int p = 0; p < PAGES; p++) r->zero[p] = zero;
        return r;
    }
    give_up("too many regions");
    return 0;
}

static int region_room(void)
{
    int free = 0;
    for (int i = 0; i < REGIONS; i++) free += !regions[i].at;
    return free > 8;
}

static Region *any_region(Random *random)
{
    for (;;) {
        Region *r = &regions[below(random, REGIONS)];
        if (r->at && !r->busy && r->size) return r;
    }
}

/* One of a kind; none if there is none. */
static Region *one_of(Random *random, Kind kind)
{
    unsigned from = below(random, REGIONS);
    for (unsigned i = 0; i < REGIONS; i++) {
        Region *r = &regions[(from + i) % REGIONS];
        if (r->at && !r->busy && r->kind == kind && r->size) return r;
    }
    return 0;
}

/* Pages are counted from the region's address. */
static Piece piece(Region *r, size_t from, size_t n, Random *random)
{
    byte *base = r->alias && chance(random, 50) ? r->alias : r->at;
    size_t page = from / PAGE % PAGES;
    /* One page's bytes that hold 0 may have another origin than the next one's. */
    for (size_t p = page + 1; p < PAGES && p * PAGE < from + n; p++)
        if (r->zero[p] != r->zero[page]) n = p * PAGE - from;
    return (Piece){ r, base + from, n, r->zero[page] };
}

static Piece piece_of(Region *r, Random *random, size_t most)
{
    size_t n = 1 + below(random, (unsigned)(most < r->size ? most : r->size));
    return piece(r, below(random, (unsigned)(r->size - n + 1)), n, random);
}

static Piece any_piece(Random *random) { return piece_of(any_region(random), random, MOST); }

/* A piece in a region that is not constant. */
static void write_piece(Piece p, Random *random) { writers[below(random, WRITERS)](p.at, p.n); }

static void read_as(int actor, Piece p, Random *random, short all)
{
    unsigned row[256], r = below(random, READERS);
    clear(row);
    readers[r](p.at, p.n, row);
    book_row(actor, r_name[r], row, p.zero, all);
}

static void read_piece(int actor, Piece p, Random *random) { read_as(actor, p, random, -1); }

/* So that none of it holds 0. */
static void fill_region(Region *r, Random *random)
{
    for (size_t from = 0; from < r->size;) {
        size_t n = 1 + below(random, MOST);
        if (n > r->size - from) n = r->size - from;
        Piece p = piece(r, from, n, random);
        write_piece(p, random);
        from += p.n;
    }
}

/* ---- files ---- */

/* The first two are read, the next two are mapped, the last two written. */
static int files[FILES];
enum { READ = 0, MAPPED = 2, WRITTEN = 4, FILE_SIZE = 3 * PAGE + 777 };
static short file_zero[FILES], file_sink[FILES];

static APART void fill_file(int file, unsigned tag)
{
    static byte bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++) ((volatile byte *)bytes)[i] = (byte)tag;
    for (size_t done = 0; done < FILE_SIZE;) {
        ssize_t n = write(file, bytes, FILE_SIZE - done < sizeof bytes ? FILE_SIZE - done : sizeof bytes);
        if (n <= 0) give_up("fill_file");
        done += (size_t)n;
    }
}

static void make_files(void)
{
    for (int i = 0; i < FILES; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/f_%d", folder, i);
        MUST(files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644));
        file_sink[i] = new_name("<write: f_%d>", i);
        file_zero[i] = new_name("<mmap: f_%d>", i);
        of_tag[OF_FILE + i] = i < MAPPED ? new_name("<read: f_%d>", i) : file_zero[i];
        if (i >= WRITTEN) continue;
        fill_file(files[i], OF_FILE + (unsigned)i);
        book(0, file_sink[i], fill_file_name, FILE_SIZE);
    }
}

/* ---- pipes and sockets ---- */

/* One way: from an end to another. */
typedef struct {
    int in, out;
    /* Bytes, or messages, that wait. */
    size_t waiting;
    int is_socket, messages, by_read, tag;
    /* Which end of all: the number in its name. */
    int in_end, out_end;
    short sink[2]; /* by write, by send */
    int busy, back;
} Channel;

static Channel channels[CHANNELS];
static int channel_count;

/* Ends are numbered as addfg sees them: when they are made; under QEMU when they are used. */
typedef struct { int number, is_socket; } End;
static End ends[2 * CHANNELS];
static int end_count, pipe_number, socket_number;

static int new_end(int is_socket)
{
    ends[end_count] = (End){ 0, is_socket };
    if (!plain) ends[end_count].number = is_socket ? ++socket_number : ++pipe_number;
    return end_count++;
}

/* Under QEMU a call of no bytes makes it known. */
static int number(int end, int fd, int writes)
{
    End *e = &ends[end];
    if (!e->number) {
        byte none;
        ssize_t n = writes ? write(fd, &none, 0) : read(fd, &none, 0);
        (void)n;
        e->number = e->is_socket ? ++socket_number : ++pipe_number;
    }
    return e->number;
}

/* Whatever is done with it next makes it known. */
static void name_source(Channel *c)
{
    if (of_tag[c->tag] >= 0) return;
    const char *format = !c->is_socket ? "<read: pipe %d>" : c->by_read ? "<read: socket %d>" : "<recv: socket %d>";
    of_tag[c->tag] = new_name(format, number(c->out_end, c->out, 0));
}

static short sink_of(Channel *c, int by_send)
{
    if (c->sink[by_send] < 0) {
        const char *format = by_send ? "<send: socket %d>" : c->is_socket ? "<write: socket %d>" : "<write: pipe %d>";
        c->sink[by_send] = new_name(format, number(c->in_end, c->in, 1));
    }
    return c->sink[by_send];
}

static int channel_room(void) { return channel_count + 2 <= CHANNELS; }

static Channel *new_channel(int in, int out, int in_end, int out_end, int is_socket, int messages, int by_read)
{
    Channel *c = &channels[channel_count];
    *c = (Channel){ in, out, 0, is_socket, messages, by_read, OF_CHANNEL + channel_count, in_end, out_end, { -1, -1 }, 0, -1 };
    channel_count++;
    return c;
}

static Channel *new_pipe(int flags)
{
    int fd[2];
    MUST(flags ? pipe2(fd, flags) : pipe(fd));
    int end = new_end(0);
    return new_channel(fd[1], fd[0], end, end, 0, 0, 1);
}

static Channel *new_sockets(Random *random)
{
    static const int types[3] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
    int fd[2], type = types[plain ? 0 : below(random, 3)], messages = type != SOCK_STREAM, by_read = chance(random, 40);
    MUST(socketpair(AF_UNIX, type, 0, fd));
    int a = new_end(1), b = new_end(1);
    Channel *c = new_channel(fd[0], fd[1], a, b, 1, messages, by_read);
    Channel *back = new_channel(fd[1], fd[0], b, a, 1, messages, chance(random, 40));
    c->back = (int)(back - channels), back->back = (int)(c - channels);
    return c;
}

static void close_channel(Channel *c)
{
    close(c->in);
    close(c->out);
    if (c->back >= 0) channels[c->back].in = channels[c->back].out = -1;
    c->in = c->out = -1;
}

/* A channel that is open and that nobody waits for; with something in it, without, or whatever. */
static Channel *any_channel(Random *random, int full)
{
    if (!channel_count) return 0;
    unsigned from = below(random, (unsigned)channel_count);
    for (int i = 0; i < channel_count; i++) {
        Channel *c = &channels[(from + (unsigned)i) % (unsigned)channel_count];
        if (c->in >= 0 && !c->busy && (full < 0 || full == (c->waiting > 0))) return c;
    }
    return 0;
}

/* ---- what the kernel takes ---- */

static void tally(int actor, short sink, const byte *from, size_t n, short zero)
{
    unsigned row[256];
    clear(row);
    for (size_t i = 0; i < n; i++) row[from[i]]++;
    book_row(actor, sink, row, zero, -1);
}

enum { VECTORS = 4 };

/* A piece cut in pieces, an empty one among them at times. */
static int cut(Piece p, struct iovec *vectors, Random *random)
{
    int n = 1 + (int)below(random, VECTORS);
    size_t from = 0;
    for (int i = 0; i < n; i++) {
        size_t rest = p.n - from, m = i + 1 == n ? rest : below(random, (unsigned)rest + 1);
        vectors[i] = (struct iovec){ p.at + from, m };
        from += m;
    }
    return n;
}

static void pack(Channel *c, Piece p) { packers[c->tag % PACKERS](p.at, p.n, (unsigned)c->tag); }

/* The tag of a channel is known by its source's name where it is read, by its packer's where it is written. */
static short packer_name(Channel *c)
{
    static short names_of[PACKERS] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    int n = c->tag % PACKERS;
    if (names_of[n] < 0) names_of[n] = new_name("pack_%d", n);
    return names_of[n];
}

/* Bytes that the kernel took of those that were packed. */
static void took(int actor, Channel *c, int by_send, ssize_t n)
{
    if (n > 0) book(actor, sink_of(c, by_send), packer_name(c), (unsigned)n);
}

static ssize_t send_some(Channel *c, Piece p, Random *random, int how)
{
    struct iovec vectors[VECTORS];
    struct msghdr m = { .msg_iov = vectors };
    switch (how) {
    case 0: return write(c->in, p.at, p.n);
    case 1: return writev(c->in, vectors, cut(p, vectors, random));
    case 2: return sendto(c->in, p.at, p.n, MSG_NOSIGNAL, 0, 0);
    case 3: return send(c->in, p.at, p.n, MSG_DONTWAIT);
    default:
        m.msg_iovlen = (size_t)cut(p, vectors, random);
        return sendmsg(c->in, &m, MSG_NOSIGNAL);
    }
}

/* Several messages by one call. */
static void send_many(int actor, Channel *c, Piece p, Random *random)
{
    struct iovec vectors[VECTORS];
    struct mmsghdr messages[VECTORS] = { 0 };
    int n = cut(p, vectors, random), sent;
    for (int i = 0; i < n; i++) {
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    sent = sendmmsg(c->in, messages, (unsigned)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; i < sent; i++) {
        took(actor, c, 1, messages[i].msg_len);
        c->waiting += c->messages ? 1 : messages[i].msg_len;
    }
}

/* Small enough never to wait. */
static int room_in(Channel *c) { return c->messages ? c->waiting < 6 : c->waiting < 3000; }

static void put(int actor, Channel *c, Random *random)
{
    if (!room_in(c)) return;
    Region *r = any_region(random);
    Piece p = piece_of(r, random, 300);
    pack(c, p);
    int by_send = c->is_socket && chance(random, 60);
    /* Who waits for a stream may wake between two messages. */
    int several = !plain && !(still && c->busy);
    if (by_send && several && chance(random, 20)) {
        send_many(actor, c, p, random);
    } else {
        ssize_t n = send_some(c, p, random, by_send ? (plain ? 2 : 2 + (int)below(random, 3)) : (int)below(random, 2));
        took(actor, c, by_send, n);
        if (n > 0) c->waiting += c->messages ? 1 : (size_t)n;
    }
    /* What is in memory was written by the packer: never to be read. */
    write_piece(p, random);
}

/* What a call gave is not in the channel any more. */
static void gone(Channel *c, ssize_t n)
{
    if (n >= 0) c->waiting -= c->messages ? 1 : (size_t)n;
}

static ssize_t receive_message(Channel *c, Piece p, Random *random, int flags)
{
    struct iovec vectors[VECTORS];
    struct msghdr m = { .msg_iov = vectors };
    m.msg_iovlen = (size_t)cut(p, vectors, random);
    return recvmsg(c->out, &m, flags);
}

/* Gives how much is not in the channel any more. */
static size_t receive_many(Channel *c, Piece p, Random *random)
{
    struct iovec vectors[VECTORS];
    struct mmsghdr messages[VECTORS] = { 0 };
    int n = cut(p, vectors, random);
    size_t gone = 0;
    for (int i = 0; i < n; i++) {
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    int got = recvmmsg(c->out, messages, (unsigned)n, MSG_DONTWAIT, 0);
    for (int i = 0; i < got; i++) gone += c->messages ? 1 : messages[i].msg_len;
    return gone;
}

static ssize_t get_by_read(Channel *c, Piece p, Random *random)
{
    struct iovec vectors[VECTORS];
    if (chance(random, 60)) return read(c->out, p.at, p.n);
    return readv(c->out, vectors, cut(p, vectors, random));
}

static ssize_t get_by_receive(Channel *c, Piece p, Random *random)
{
    switch (plain ? 0 : below(random, 4)) {
    case 0: return recvfrom(c->out, p.at, p.n, 0, 0, 0);
    case 1: return recv(c->out, p.at, p.n, c->messages ? MSG_TRUNC : 0);
    case 2: return receive_message(c, p, random, 0);
    default: return receive_message(c, p, random, MSG_DONTWAIT | (c->messages ? MSG_TRUNC : 0));
    }
}

/* Takes out of a channel, where nothing has to be waited for. */
static void get(int actor, Channel *c, Random *random)
{
    name_source(c);
    Piece p = any_piece(random);
    if (!c->by_read && !plain && chance(random, 15)) {
        recv(c->out, p.at, p.n, MSG_PEEK | MSG_DONTWAIT);
    } else if (!c->by_read && !plain && chance(random, 20)) {
        c->waiting -= receive_many(c, p, random);
    } else {
        ssize_t n = c->by_read ? get_by_read(c, p, random) : get_by_receive(c, p, random);
        gone(c, n);
    }
    read_piece(actor, p, random);
}

/* ---- threads: they wait until they are told what to do ---- */

typedef struct Job Job;
struct Job { void (*run)(int actor, Job *job); Random random; Channel *channel; Piece piece; int how; ssize_t n; };

typedef struct {
    pthread_t thread;
    pid_t tid;
    sem_t go, done;
    Job job;
    /* It has not said that it is done; an operation of the main thread's list waits for it. */
    int waits, delegated;
    byte *stack;
} Actor;

static Actor actors[ACTORS];
static int actor_count;
static __thread int me;

enum { ON_STACK = 2048 };

static void tell(int actor, Job job)
{
    actors[actor].job = job;
    actors[actor].waits = 1;
    sem_post(&actors[actor].go);
}

static void until_done(int actor)
{
    while (sem_wait(&actors[actor].done)) {}
    actors[actor].waits = 0;
    Job *job = &actors[actor].job;
    if (job->channel) job->channel->busy = 0;
    if (job->piece.region) job->piece.region->busy = 0;
}

static void *act(void *number_of)
{
    byte stack[ON_STACK];
    int actor = me = (int)(intptr_t)number_of;
    actors[actor].stack = stack;
    actors[actor].tid = (pid_t)syscall(SYS_gettid);
    sem_post(&actors[actor].done);
    for (;;) {
        while (sem_wait(&actors[actor].go)) {}
        if (!actors[actor].job.run) break;
        actors[actor].job.run(actor, &actors[actor].job);
        sem_post(&actors[actor].done);
    }
    return 0;
}

static int idle_actor(Random *random)
{
    unsigned from = below(random, (unsigned)actor_count);
    for (int i = 0; i < actor_count; i++) {
        int actor = (int)(from + (unsigned)i) % actor_count;
        if (actor && !actors[actor].waits) return actor;
    }
    return 0;
}

static int waiting_actor(Random *random)
{
    unsigned from = below(random, (unsigned)actor_count);
    for (int i = 0; i < actor_count; i++) {
        int actor = (int)(from + (unsigned)i) % actor_count;
        if (actors[actor].waits && !actors[actor].delegated) return actor;
    }
    return 0;
}

static void nap(int milliseconds)
{
    struct timespec t = { 0, milliseconds * 1000000L };
    nanosleep(&t, 0);
}

/* What belongs to a job is its own until it is done. */
static Piece own_piece(Region *r, Random *random, size_t most)
{
    Piece p = piece_of(r, random, most);
    r->busy = 1;
    return p;
}

/* Waits for a channel by `how`, then reads. */
static ssize_t await(Channel *c, Piece p, int how, Random *random)
{
    struct pollfd ready = { c->out, POLLIN, 0 };
    if (how == 1) while (poll(&ready, 1, -1) < 0) {}
    if (how == 2) while (ppoll(&ready, 1, 0, 0) < 0) {}
    if (how == 3) {
        fd_set set;
        do {
            FD_ZERO(&set);
            FD_SET(c->out, &set);
        } while (select(c->out + 1, &set, 0, 0, 0) < 0);
    }
    if (how == 4) {
        int epoll = epoll_create1(0);
        struct epoll_event event = { EPOLLIN, { .fd = c->out } };
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->out, &event);
        while (epoll_wait(epoll, &event, 1, -1) < 0) {}
        close(epoll);
    }
    return c->by_read ? get_by_read(c, p, random) : get_by_receive(c, p, random);
}

static void run_await(int actor, Job *job)
{
    job->n = await(job->channel, job->piece, job->how, &job->random);
    read_piece(actor, job->piece, &job->random);
}

/* Sleeps, then works. */
static void run_sleep(int actor, Job *job)
{
    nap(1 + (int)below(&job->random, 8));
    write_piece(job->piece, &job->random);
    read_piece(actor, job->piece, &job->random);
}

/* Works for some time while others do. */
static void run_work(int actor, Job *job)
{
    for (int i = 0; i < 6; i++) {
        if (chance(&job->random, 70)) write_piece(job->piece, &job->random);
        if (chance(&job->random, 40)) {
            ssize_t n = pread(files[READ], job->piece.at, job->piece.n, below(&job->random, FILE_SIZE));
            (void)n;
        }
        if (chance(&job->random, 40)) {
            size_t m = job->piece.n;
            ssize_t n = pwrite(files[WRITTEN], job->piece.at, m, below(&job->random, FILE_SIZE));
            if (n > 0) tally(actor, file_sink[WRITTEN], job->piece.at, (size_t)n, job->piece.zero);
        }
        read_piece(actor, job->piece, &job->random);
    }
}

/* Writes more than a pipe takes. */
static void run_flood(int actor, Job *job)
{
    pack(job->channel, job->piece);
    for (ssize_t done = 0; done < job->n;) {
        ssize_t n = write(job->channel->in, job->piece.at + done, (size_t)(job->n - done));
        took(actor, job->channel, 0, n);
        if (n > 0) done += n;
    }
}

/* Puts something into a channel that another thread waits for. */
static void run_put(int actor, Job *job)
{
    nap(2);
    pack(job->channel, job->piece);
    took(actor, job->channel, 0, write(job->channel->in, job->piece.at, job->piece.n));
    write_piece(job->piece, &job->random);
}

static void run_wait(int actor, Job *job)
{
    int status;
    pid_t child = fork();
    if (!child) {
        nap(3);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    read_piece(actor, job->piece, &job->random);
}

/* ---- operations ---- */

static void op_write(int actor, Random *random)
{
    for (unsigned n = 1 + below(random, 3); n > 0; n--) write_piece(any_piece(random), random);
}

static void op_read(int actor, Random *random)
{
    for (unsigned n = 1 + below(random, 3); n > 0; n--) read_piece(actor, any_piece(random), random);
}

static void op_copy(int actor, Random *random)
{
    Piece from = any_piece(random), to = any_piece(random);
    unsigned row[256], c = below(random, COPIERS);
    clear(row);
    size_t n = from.n < to.n ? from.n : to.n;
    /* Both may be in one region: what is copied is counted before it is written over, or it does not overlap. */
    if (from.region == to.region) {
        to = from;
        n = from.n;
    }
    copiers[c](from.at, to.at, n, row);
    book_row(actor, c_name[c], row, from.zero, -1);
}

static byte tagged[3000] __attribute__((section(".tags"))) = { [0 ... 2999] = OF_DATA };
static const byte constant[2000] __attribute__((section(".tags_constant"))) = { [0 ... 1999] = OF_CONSTANTS };

static void op_constant(int actor, Random *random)
{
    size_t n = 1 + below(random, MOST);
    read_piece(actor, (Piece){ 0, (byte *)constant + below(random, (unsigned)(sizeof constant - n)), n, -1 }, random);
}

static APART void deep(int actor, Random *random, int depth)
{
    byte local[200];
    Region r = { .kind = STACK, .at = local, .size = sizeof local, .file = -1 };
    writers[below(random, WRITERS)](local, sizeof local);
    if (depth) deep(actor, random, depth - 1);
    Piece p = piece_of(&r, random, 200);
    p.zero = -1;
    read_piece(actor, p, random);
    __asm__ volatile("" : : "r"(local) : "memory");
}

static void op_deep(int actor, Random *random) { deep(actor, random, (int)below(random, 5)); }

/* More than the heap has room for at its top: it is mapped, and is as new. */
enum { BIG = 256 * 1024 };

static void op_allocate(int actor, Random *random)
{
    if (!region_room()) return;
    if (chance(random, 30)) {
        size_t size = BIG + below(random, 60000);
        byte *at = chance(random, 50) ? malloc(size) : calloc(1, size);
        Region *r = new_region(HEAP_BIG, at, size, uninitialised);
        read_piece(actor, piece_of(r, random, MOST), random);
        return;
    }
    size_t size = 1 + below(random, 2000);
    void *at = 0;
    switch (below(random, 3)) {
    case 0: at = malloc(size); break;
    case 1: at = calloc(size, 1); break;
    default: if (posix_memalign(&at, 64, size)) give_up("posix_memalign");
    }
    fill_region(new_region(HEAP, at, size, -1), random);
}

static void op_free(int actor, Random *random)
{
    Region *r = one_of(random, chance(random, 50) ? HEAP : HEAP_BIG);
    if (!r) return;
    free(r->at);
    r->at = 0;
}

static void op_reallocate(int actor, Random *random)
{
    Region *r = one_of(random, chance(random, 40) ? HEAP : HEAP_BIG);
    if (!r) return;
    if (r->kind == HEAP) {
        /* It may be copied, by the library. */
        r->size = 1 + below(random, 3000);
        r->at = realloc(r->at, r->size);
        fill_region(r, random);
        return;
    }
    /* It is mapped, and moved by mremap. */
    r->size = BIG + below(random, 120000);
    r->at = realloc(r->at, r->size);
    read_piece(actor, piece_of(r, random, MOST), random);
}

static void op_map(int actor, Random *random)
{
    if (!region_room()) return;
    size_t pages = 1 + below(random, 8);
    void *at = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST((intptr_t)at);
    Region *r = new_region(ANONYMOUS, at, pages * PAGE, uninitialised);
    if (chance(random, 50)) write_piece(piece_of(r, random, MOST), random);
    read_piece(actor, piece_of(r, random, MOST), random);
}

static void op_unmap(int actor, Random *random)
{
    Region *r = one_of(random, chance(random, 60) ? ANONYMOUS : PRIVATE_FILE);
    if (!r) return;
    MUST(munmap(r->at, up(r->size)));
    /* What takes its place is new. */
    if (chance(random, 50)) {
        void *at = mmap(r->at, up(r->size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        MUST((intptr_t)at);
        r->kind = ANONYMOUS;
        for (int p = 0; p < PAGES; p++) r->zero[p] = uninitialised;
        read_piece(actor, piece_of(r, random, MOST), random);
        return;
    }
    r->at = 0;
}

/* Some pages of a region: where they begin, how many. */
static size_t some_pages(Region *r, Random *random, size_t *count)
{
    size_t all = up(r->size) / PAGE, first = below(random, (unsigned)all);
    *count = 1 + below(random, (unsigned)(all - first));
    return first;
}

static void zero_of(Region *r, size_t first, size_t count, short zero)
{
    for (size_t p = first; p < first + count && p < PAGES; p++) r->zero[p] = zero;
}

/* Reads what is on the pages, the first of them, or across where they begin. */
static void look_at(int actor, Region *r, size_t first, Random *random)
{
    size_t from = first * PAGE;
    if (from > 64 && chance(random, 30)) from -= 64;
    if (from >= r->size) from = 0;
    size_t n = 1 + below(random, MOST);
    if (n > r->size - from) n = r->size - from;
    read_piece(actor, piece(r, from, n, random), random);
}

/* Memory or a file's pages over pages. */
static void op_map_over(int actor, Random *random)
{
    Region *r = one_of(random, ANONYMOUS);
    if (!r) return;
    size_t count, first = some_pages(r, random, &count);
    int file = MAPPED, of_file = chance(random, 40);
    if (of_file && count > 3) count = 3;
    void *at = mmap(r->at + first * PAGE, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | (of_file ? 0 : MAP_ANONYMOUS),
                    of_file ? files[file] : -1, 0);
    MUST((intptr_t)at);
    zero_of(r, first, count, of_file ? file_zero[file] : uninitialised);
    look_at(actor, r, first, random);
}

static void op_protect(int actor, Random *random)
{
    Region *r = one_of(random, chance(random, 70) ? ANONYMOUS : SHARED);
    if (!r) return;
    size_t count, first = some_pages(r, random, &count);
    MUST(mprotect(r->at + first * PAGE, count * PAGE, chance(random, 50) ? PROT_NONE : PROT_READ));
    if (chance(random, 30)) {
        ssize_t n = pread(files[READ], r->at + first * PAGE, 100, 0); /* EFAULT */
        (void)n;
    }
    MUST(mprotect(r->at + first * PAGE, count * PAGE, PROT_READ | PROT_WRITE));
    look_at(actor, r, first, random);
}

static void op_advise(int actor, Random *random)
{
    static const Kind kinds[] = { ANONYMOUS, ANONYMOUS, PRIVATE_FILE, HEAP_BIG };
    Region *r = one_of(random, kinds[below(random, 4)]);
    if (!r) return;
    byte *base = (byte *)((uintptr_t)r->at & ~(uintptr_t)(PAGE - 1));
    if (base != r->at) {
        /* A page within an allocation. */
        base += PAGE * (1 + below(random, (BIG / PAGE) - 2));
        MUST(madvise(base, PAGE, MADV_DONTNEED));
        size_t from = (size_t)(base - r->at) - 20;
        read_piece(actor, piece(r, from, 200, random), random);
        return;
    }
    size_t count, first = some_pages(r, random, &count);
    if (r->kind == ANONYMOUS && chance(random, 30)) {
        /* Whether it is lost is the system's choice, until it is written. */
        int free = madvise(r->at + first * PAGE, PAGE, MADV_FREE);
        writers[below(random, WRITERS)](r->at + first * PAGE, PAGE);
        (void)free;
    } else {
        MUST(madvise(r->at + first * PAGE, count * PAGE, MADV_DONTNEED));
    }
    look_at(actor, r, first, random);
}

/* Moves, grows and shrinks. */
static void op_remap(int actor, Random *random)
{
    Region *r = one_of(random, ANONYMOUS);
    if (!r) return;
    size_t pages = up(r->size) / PAGE, more = 1 + below(random, 12);
    /* One mapping only is moved at once. */
    for (size_t p = 1; p < pages; p++)
        if (r->zero[p] != r->zero[0]) return;
    if (r->zero[0] != uninitialised) return;
    void *at;
    if (chance(random, 40)) {
        void *place = mmap(0, more * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST((intptr_t)place);
        at = mremap(r->at, pages * PAGE, more * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    } else {
        at = mremap(r->at, pages * PAGE, more * PAGE, chance(random, 70) ? MREMAP_MAYMOVE : 0);
    }
    /* Neighbours of other kinds make several mappings of it, which are not moved. */
    if (at == MAP_FAILED) return;
    r->at = at, r->size = more * PAGE;
    zero_of(r, 0, PAGES, uninitialised);
    look_at(actor, r, pages < more ? pages : 0, random);
    read_piece(actor, piece_of(r, random, MOST), random);
}

static Region *break_region;

/* As long as nobody else has moved it. */
static void op_break(int actor, Random *random)
{
    byte *now = sbrk(0);
    if (!break_region) {
        if (!region_room() || sbrk(2 * PAGE) != now) return;
        break_region = new_region(BREAK, now, 2 * PAGE, uninitialised);
    }
    Region *r = break_region;
    if (r->busy || r->at + r->size != now) return;
    if (chance(random, 50) && r->size > 100) {
        size_t less = 1 + below(random, (unsigned)(chance(random, 50) ? r->size - 1 : 90));
        if (sbrk(-(intptr_t)less) == (void *)-1) return;
        r->size -= less;
        if (chance(random, 70) && sbrk((intptr_t)less) != (void *)-1) r->size += less;
    } else if (r->size < 40 * PAGE) {
        size_t more = 1 + below(random, 3 * PAGE);
        if (sbrk((intptr_t)more) == (void *)-1) return;
        r->size += more;
    }
    size_t n = r->size < MOST ? r->size : MOST;
    read_piece(actor, piece(r, r->size - n, n, random), random);
    write_piece(piece_of(r, random, MOST), random);
    read_piece(actor, piece_of(r, random, MOST), random);
}

static void op_map_file(int actor, Random *random)
{
    if (!region_room()) return;
    int file = MAPPED; /* the other is for shared ones */
    size_t first = below(random, 2);
    void *at = mmap(0, FILE_SIZE - first * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, files[file], (off_t)(first * PAGE));
    MUST((intptr_t)at);
    Region *r = new_region(PRIVATE_FILE, at, up(FILE_SIZE) - first * PAGE, file_zero[file]);
    read_piece(actor, piece_of(r, random, MOST), random);
}

/* The same memory at two addresses: of a file, or of none. */
static void op_map_twice(int actor, Random *random)
{
    static int made;
    if (!region_room() || made == 2) return;
    int of_file = made++, file = MAPPED + 1, fd = of_file ? files[file] : memfd_create("knows", MFD_CLOEXEC);
    size_t size = 4 * PAGE;
    if (fd < 0) return;
    MUST(ftruncate(fd, (off_t)size));
    byte *at[2];
    for (int i = 0; i < 2; i++) {
        at[i] = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        MUST((intptr_t)at[i]);
    }
    Region *r = new_region(SHARED, at[0], size, of_file ? file_zero[file] : uninitialised);
    r->alias = at[1];
    r->file = fd;
    read_piece(actor, piece_of(r, random, MOST), random);
}

static void op_shared(int actor, Random *random)
{
    Region *r = one_of(random, SHARED);
    if (!r) return;
    size_t count, first = some_pages(r, random, &count);
    switch (below(random, 5)) {
    case 0: {
        off_t keep = (off_t)below(random, 4 * PAGE);
        MUST(ftruncate(r->file, keep));
        MUST(ftruncate(r->file, 4 * PAGE));
        first = (size_t)keep / PAGE;
        break;
    }
    case 1: madvise(r->at + first * PAGE, count * PAGE, MADV_REMOVE); break;
    case 2: fallocate(r->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * PAGE) + 100, 300); break;
    case 3: MUST(madvise(r->at + first * PAGE, count * PAGE, MADV_DONTNEED)); break; /* nothing changes */
    default: {
        byte local[256];
        writers[below(random, WRITERS)](local, sizeof local);
        size_t n = 1 + below(random, sizeof local - 1);
        ssize_t done = pwrite(r->file, local, n, (off_t)(first * PAGE + 10));
        short sink = r->file == files[MAPPED + 1] ? file_sink[MAPPED + 1] : new_name("<write: memfd>", 0);
        if (done > 0) tally(actor, sink, local, (size_t)done, -1);
    }
    }
    look_at(actor, r, first, random);
    read_piece(actor, piece_of(r, random, MOST), random);
}

static void op_read_file(int actor, Random *random)
{
    Piece p = any_piece(random);
    struct iovec vectors[VECTORS];
    int file = READ + (int)below(random, 2), fd = files[file];
    off_t at = below(random, FILE_SIZE + 50);
    ssize_t n;
    switch (below(random, plain ? 3 : 5)) {
    case 0:
        lseek(fd, at, SEEK_SET);
        n = read(fd, p.at, p.n);
        break;
    case 1: n = pread(fd, p.at, p.n, at); break;
    case 2:
        lseek(fd, at, SEEK_SET);
        n = readv(fd, vectors, cut(p, vectors, random));
        break;
    case 3: n = preadv(fd, vectors, cut(p, vectors, random), at); break;
    default: n = preadv2(fd, vectors, cut(p, vectors, random), at, 0);
    }
    (void)n;
    read_piece(actor, p, random);
}

/* The vectors' bytes that were taken: those of the piece, as they stand in it one behind the other. */
static void op_write_file(int actor, Random *random)
{
    Piece p = any_piece(random);
    struct iovec vectors[VECTORS];
    int file = WRITTEN + (int)below(random, 2), fd = files[file];
    off_t at = below(random, FILE_SIZE);
    ssize_t n;
    switch (below(random, plain ? 3 : 5)) {
    case 0: n = write(fd, p.at, p.n); break;
    case 1: n = pwrite(fd, p.at, p.n, at); break;
    case 2: n = writev(fd, vectors, cut(p, vectors, random)); break;
    case 3: n = pwritev(fd, vectors, cut(p, vectors, random), at); break;
    default: n = pwritev2(fd, vectors, cut(p, vectors, random), at, 0);
    }
    if (n > 0) tally(actor, file_sink[file], p.at, (size_t)n, p.zero);
}

static void op_pipe(int actor, Random *random)
{
    if (!channel_room()) return;
    Channel *c = new_pipe(chance(random, 50) ? O_CLOEXEC : 0);
    put(actor, c, random);
}

static void op_sockets(int actor, Random *random)
{
    if (!channel_room()) return;
    Channel *c = new_sockets(random);
    put(actor, c, random);
}

static void op_put(int actor, Random *random)
{
    Channel *c = any_channel(random, -1);
    if (c) put(actor, c, random);
}

static void op_get(int actor, Random *random)
{
    Channel *c = any_channel(random, 1);
    if (c) get(actor, c, random);
}

/* A closed channel's numbers go to others. */
static void op_close(int actor, Random *random)
{
    Channel *c = any_channel(random, -1);
    if (!c || (c->back >= 0 && channels[c->back].busy)) return;
    close_channel(c);
    if (chance(random, 60)) op_pipe(actor, random);
}

/* A number that was a pipe's becomes an event's, which is then read. */
static void op_event(int actor, Random *random)
{
    static short source, sink;
    if (!source) source = new_name("<read: eventfd>", 0), sink = new_name("<write: eventfd>", 0);
    of_tag[OF_EVENT] = source;
    Channel *c = any_channel(random, -1);
    if (c && !(c->back >= 0 && channels[c->back].busy) && chance(random, 60)) {
        if (chance(random, 50)) syscall(SYS_close_range, (unsigned)c->in, (unsigned)c->in, 0);
        close_channel(c);
    }
    int other = -1, what = (int)below(random, 6);
    sigset_t none;
    sigemptyset(&none);
    if (what == 0) other = timerfd_create(CLOCK_MONOTONIC, 0);
    if (what == 1) other = signalfd(-1, &none, 0);
    if (what == 2) other = epoll_create1(0);
    if (what == 3) other = inotify_init1(0);
    if (what == 4) other = memfd_create("other", 0);
    int event = eventfd(0, EFD_NONBLOCK);
    MUST(event);
    byte value[8];
    packers[0](value, sizeof value, OF_EVENT);
    if (write(event, value, sizeof value) == sizeof value) {
        static short packer;
        if (!packer) packer = new_name("pack_%d", 0);
        book(actor, sink, packer, sizeof value);
    }
    Region *r = any_region(random);
    while (r->size < 8) r = any_region(random);
    Piece p = piece(r, 0, 8, random);
    ssize_t n = read(event, p.at, 8);
    (void)n;
    read_piece(actor, p, random);
    close(event);
    if (other >= 0) close(other);
}

/* The same pipe by another number, in the old one's place at times. */
static void op_duplicate(int actor, Random *random)
{
    Channel *c = any_channel(random, -1);
    if (!c || c->back >= 0) return;
    int out = -1;
    switch (below(random, 5)) {
    case 0: out = dup(c->out); break;
    case 1: out = dup2(c->out, 300 + (int)below(random, 20)); break;
    case 2: out = dup3(c->out, 320 + (int)below(random, 20), O_CLOEXEC); break;
    case 3: out = fcntl(c->out, F_DUPFD, 340 + (int)below(random, 20)); break;
    default: out = fcntl(c->out, F_DUPFD_CLOEXEC, 360 + (int)below(random, 20));
    }
    if (out < 0 || out == c->out) return;
    close(c->out);
    c->out = out;
    if (c->waiting) get(actor, c, random);
    /* Back to small numbers, so that the large ones are free. */
    int low = dup(out);
    if (low >= 0) {
        close(out);
        c->out = low;
    }
    put(actor, c, random);
}

/* The end of a pipe goes through a socket and comes out with another number. */
static void op_pass(int actor, Random *random)
{
    Channel *c = any_channel(random, 1);
    if (!c || c->is_socket || !channel_room()) return;
    int fd[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    int a = new_end(1), b = new_end(1);
    Channel *by = new_channel(fd[0], fd[1], a, b, 1, 0, 0);
    byte *local = malloc(16);
    packers[by->tag % PACKERS](local, 16, (unsigned)by->tag);
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { 0 };
    struct iovec vector = { local, 16 };
    struct msghdr m = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &c->out, sizeof(int));
    took(actor, by, 1, sendmsg(fd[0], &m, 0));
    close(c->out);
    name_source(by);
    if (recvmsg(fd[1], &m, 0) < 0) give_up("recvmsg");
    read_piece(actor, (Piece){ 0, local, 16, -1 }, random);
    memcpy(&c->out, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
    free(local);
    close_channel(by);
    get(actor, c, random);
}

static void op_open(int actor, Random *random)
{
    Channel *closed = any_channel(random, -1);
    if (closed && !(closed->back >= 0 && channels[closed->back].busy) && chance(random, 40)) close_channel(closed);
    char path[512];
    int file = READ + (int)below(random, 2), fd = -1;
    snprintf(path, sizeof path, "%s/f_%d", folder, file);
    uint64_t how[3] = { O_RDONLY, 0, 0 };
    if (!plain && chance(random, 50)) fd = (int)syscall(437 /* openat2 */, AT_FDCWD, path, how, sizeof how);
    if (fd < 0) MUST(fd = open(path, O_RDONLY));
    Piece p = any_piece(random);
    ssize_t n = read(fd, p.at, p.n);
    (void)n;
    read_piece(actor, p, random);
    close(fd);
}

/* Calls that fail take nothing and give nothing. */
static void op_fail(int actor, Random *random)
{
    Piece p = any_piece(random);
    Channel *c = any_channel(random, 0);
    struct iovec bad[2] = { { p.at, p.n }, { nowhere, 10 } };
    ssize_t n = 0;
    switch (below(random, plain ? 5 : 9)) {
    case 0: n = read(-1, p.at, p.n); break;
    case 1: n = write(999, p.at, p.n); break;
    case 2: n = read(files[READ], nowhere, 10); break;
    case 3: n = write(files[WRITTEN], nowhere, 10); break;
    case 4:
        if (c && !c->is_socket) n = read(c->in, p.at, p.n), n = write(c->out, p.at, p.n);
        break;
    case 5:
        if (c && c->is_socket && c->by_read) n = recv(c->out, p.at, p.n, MSG_DONTWAIT);
        break;
    case 6:
        n = writev(files[WRITTEN], bad, 2); /* what is before the bad one, or nothing */
        if (n > 0) tally(actor, file_sink[WRITTEN], p.at, (size_t)n, p.zero);
        break;
    case 7: n = pread(files[READ], p.at, p.n, -1); break;
    default: n = sendto(files[READ], p.at, p.n, 0, 0, 0); /* not a socket */
    }
    read_piece(actor, p, random);
}

/* A pipe that does not wait takes as much as it has room for. */
static void op_short(int actor, Random *random)
{
    if (!channel_room()) return;
    Channel *c = new_pipe(O_NONBLOCK);
    fcntl(c->in, F_SETPIPE_SZ, PAGE);
    size_t size = 3 * PAGE;
    byte *bytes = malloc(size);
    Piece all = { 0, bytes, size, -1 };
    struct iovec vectors[VECTORS];
    for (int i = 0; i < 3; i++) {
        pack(c, all);
        ssize_t n = chance(random, 50) ? write(c->in, bytes, size) : writev(c->in, vectors, cut(all, vectors, random));
        took(actor, c, 0, n);
        if (n > 0) c->waiting += (size_t)n;
    }
    free(bytes);
    for (int i = 0; i < 3; i++) get(actor, c, random);
    close_channel(c);
}

/* A read, or a write, that memory ends in the middle of. */
static void op_edge(int actor, Random *random)
{
    byte *at = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST((intptr_t)at);
    MUST(mprotect(at + PAGE, PAGE, PROT_NONE));
    size_t n = 1 + below(random, MOST);
    Piece p = { 0, at + PAGE - n, n, uninitialised };
    if (chance(random, 50)) write_piece(p, random);
    if (chance(random, 50)) {
        lseek(files[READ], 0, SEEK_SET);
        ssize_t done = read(files[READ], p.at, n + 100);
        (void)done;
    } else {
        ssize_t done = write(files[WRITTEN], p.at, n + 100);
        if (done > 0) tally(actor, file_sink[WRITTEN], p.at, (size_t)done, p.zero);
    }
    read_piece(actor, p, random);
    MUST(munmap(at, 2 * PAGE));
}

/* What other calls write. */
static void op_other(int actor, Random *random)
{
    static short of_random, of_uname;
    if (!of_random) of_random = new_name("<getrandom>", 0), of_uname = new_name("<uname>", 0);
    union { struct utsname name; byte bytes[600]; } local;
    Piece p = { 0, local.bytes, 1 + below(random, 250), -1 };
    if (!plain && chance(random, 50)) {
        p.n = sizeof local.name;
        if (uname(&local.name)) return;
        read_as(actor, p, random, of_uname);
    } else {
        if (syscall(SYS_getrandom, p.at, p.n, 0) != (long)p.n) return;
        read_as(actor, p, random, of_random);
    }
}

/* ---- operations that other threads do meanwhile ---- */

/* A thread waits for bytes that come later. */
static void op_await(int actor, Random *random)
{
    int who = idle_actor(random);
    Channel *c = any_channel(random, 0);
    if (!who || !c || (c->back >= 0 && channels[c->back].busy)) return;
    name_source(c);
    c->busy = 1;
    Job job = { run_await, of_seed(next(random)), c, own_piece(any_region(random), random, MOST), 0, 0 };
    job.how = plain ? 0 : (int)below(random, 5);
    tell(who, job);
    nap(2);
}

/* The channel that a thread waits for gets what it waits for. */
static void wake(int actor, int who, Random *random)
{
    Job *job = &actors[who].job;
    Channel *c = job->channel;
    if (job->run == run_flood) {
        size_t left = (size_t)job->n + 1;
        while (left) {
            Piece p = piece_of(any_region(random), random, MOST);
            if (p.n > left) p.n = left;
            ssize_t n = read(c->out, p.at, p.n);
            read_piece(actor, p, random);
            if (n > 0) left -= (size_t)n;
        }
    } else if (c) {
        while (!c->waiting) put(actor, c, random);
    }
    until_done(who);
    if (job->run == run_await) gone(c, job->n);
    if (job->run == run_flood) close_channel(c);
}

static void op_wake(int actor, Random *random)
{
    int who = waiting_actor(random);
    if (who) wake(actor, who, random);
}

static void op_sleep(int actor, Random *random)
{
    int who = idle_actor(random);
    if (!who) return;
    Job job = { run_sleep, of_seed(next(random)), 0, own_piece(any_region(random), random, MOST), 0, 0 };
    tell(who, job);
}

static void op_flood(int actor, Random *random)
{
    int who = idle_actor(random);
    if (!who || !channel_room() || !region_room()) return;
    Channel *c = new_pipe(0);
    fcntl(c->in, F_SETPIPE_SZ, PAGE);
    c->busy = 1;
    size_t n = PAGE + 1 + below(random, PAGE);
    void *at = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST((intptr_t)at);
    /* Known, with its names, before the thread uses it. */
    Piece first = { 0, at, 1, -1 };
    name_source(c);
    pack(c, first);
    took(actor, c, 0, write(c->in, first.at, 1));
    /* Its bytes are the packer's: nobody is to read them. It stays mapped. */
    Piece p = { 0, at, n, -1 };
    Job job = { run_flood, of_seed(next(random)), c, p, 0, (ssize_t)n };
    tell(who, job);
    nap(2);
}

static void op_wait_child(int actor, Random *random)
{
    int who = idle_actor(random);
    if (!who) return;
    Job job = { run_wait, of_seed(next(random)), 0, own_piece(any_region(random), random, MOST), 0, 0 };
    tell(who, job);
}

/* All threads that have nothing to do work at once. */
static void op_together(int actor, Random *random)
{
    int told[ACTORS] = { 0 };
    for (int who; (who = idle_actor(random)) != 0;) {
        Job job = { run_work, of_seed(next(random)), 0, own_piece(any_region(random), random, MOST), 0, 0 };
        tell(who, job);
        told[who] = 1;
    }
    Job own = { run_work, of_seed(next(random)), 0, own_piece(any_region(random), random, MOST), 0, 0 };
    run_work(actor, &own);
    own.piece.region->busy = 0;
    for (int who = 1; who < actor_count; who++)
        if (told[who]) until_done(who);
}

/* The main thread waits, another one wakes it. */
static void op_main_awaits(int actor, Random *random)
{
    int who = idle_actor(random);
    Channel *c = any_channel(random, 0);
    if (!who || !c || (c->back >= 0 && channels[c->back].busy)) return;
    name_source(c);
    Job job = { run_put, of_seed(next(random)), c, own_piece(any_region(random), random, 300), 0, 0 };
    Piece p = any_piece(random);
    /* A message is gone when a part of it is read. */
    sink_of(c, 0);
    packer_name(c);
    size_t sent = job.piece.n;
    tell(who, job);
    ssize_t n = await(c, p, plain ? 0 : (int)below(random, 5), random);
    until_done(who);
    c->waiting += c->messages ? 1 : sent;
    gone(c, n);
    read_piece(actor, p, random);
}

/* A thread that comes and goes. */
static void *short_life(void *job_of)
{
    Job *job = job_of;
    byte local[300];
    writers[below(&job->random, WRITERS)](local, sizeof local);
    read_piece(job->how, (Piece){ 0, local, sizeof local, -1 }, &job->random);
    for (unsigned n = 2; n > 0; n--) {
        op_read_file(job->how, &job->random);
        op_read(job->how, &job->random);
    }
    return 0;
}

static void op_thread(int actor, Random *random)
{
    if (actor) return;
    pthread_t thread;
    Job job = { 0, of_seed(next(random)), 0, { 0 }, actor, 0 };
    if (pthread_create(&thread, 0, short_life, &job)) return;
    pthread_join(thread, 0);
}

/* ---- signals ---- */

static byte handled[ACTORS][64];

static void handler(int signal)
{
    int saved = errno, actor = me;
    unsigned row[256], second = signal == SIGUSR2;
    clear(row);
    (second ? handler_w_1 : handler_w_0)(handled[actor], sizeof handled[0]);
    ssize_t n = write(files[WRITTEN + 1], handled[actor], 40);
    if (n > 0) tally(ACTORS + actor, file_sink[WRITTEN + 1], handled[actor], (size_t)n, -1);
    (second ? handler_r_1 : handler_r_0)(handled[actor], sizeof handled[0], row);
    book_row(ACTORS + actor, handler_name[second], row, -1, -1);
    errno = saved;
}

static void op_raise(int actor, Random *random)
{
    Piece p = any_piece(random);
    write_piece(p, random);
    raise(chance(random, 50) ? SIGUSR1 : SIGUSR2);
    read_piece(actor, p, random);
}

/* A thread that waits for bytes is interrupted: it goes on waiting, or its call fails. */
static void op_interrupt(int actor, Random *random)
{
    int who = waiting_actor(random), times = 0;
    if (!who) return;
    if (chance(random, 60)) {
        pthread_kill(actors[who].thread, SIGUSR1); /* SA_RESTART */
        nap(3);
        return;
    }
    Job *job = &actors[who].job;
    if (job->run != run_await || job->how) return;
    /* Until its call has failed: it may not have begun. */
    while (sem_trywait(&actors[who].done)) {
        if (times++ > 300) give_up("a thread that does not listen");
        pthread_kill(actors[who].thread, SIGUSR2);
        nap(3);
    }
    sem_post(&actors[who].done);
    until_done(who);
    gone(job->channel, job->n);
}

static void set_handlers(void)
{
    struct sigaction action = { .sa_handler = handler };
    action.sa_flags = SA_RESTART;
    MUST(sigaction(SIGUSR1, &action, 0));
    action.sa_flags = 0;
    MUST(sigaction(SIGUSR2, &action, 0));
    signal(SIGPIPE, SIG_IGN);
}

/* ---- children ---- */

static int children;

static void in_child(int actor, Channel *c, Random *random)
{
    static byte local[128];
    memset(known, 0, sizeof known);
    for (int i = 0; i < 3; i++) {
        Region *r = any_region(random);
        if (r->kind == SHARED) continue;
        Piece p = piece_of(r, random, MOST);
        read_piece(actor, p, random);
        child_w(p.at, p.n);
        read_piece(actor, p, random);
    }
    if (c) {
        packers[c->tag % PACKERS](local, sizeof local, (unsigned)c->tag);
        took(actor, c, 0, write(c->in, local, sizeof local));
    }
    if (follow) {
        char name[32];
        snprintf(name, sizeof name, "report.%d", children);
        report(name);
    }
    _exit(0);
}

static void op_fork(int actor, Random *random)
{
    Channel *c = any_channel(random, 0);
    int status;
    if (c) sink_of(c, 0), packer_name(c), name_source(c);
    children++;
    uint64_t of_child = next(random);
    pid_t child = fork();
    if (!child) {
        Random own = of_seed(of_child);
        in_child(actor, c, &own);
    }
    if (child < 0) return;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (c) {
        c->waiting += c->messages ? 1 : 128;
        get(actor, c, random);
    }
}

/* ---- the run ---- */

/* Not under QEMU; not where system calls are to be the same in every run. */
enum { ANYWHERE, NOT_PLAIN = 1, NOT_STILL = 2 };

typedef struct { void (*run)(int actor, Random *random); int weight, where; } Op;

static const Op ops[] = {
    { op_write, 8, ANYWHERE }, { op_read, 10, ANYWHERE }, { op_copy, 8, ANYWHERE }, { op_constant, 2, ANYWHERE },
    { op_deep, 3, ANYWHERE }, { op_allocate, 5, NOT_PLAIN }, { op_free, 3, NOT_PLAIN }, { op_reallocate, 4, NOT_PLAIN },
    { op_map, 5, ANYWHERE }, { op_unmap, 3, ANYWHERE }, { op_map_over, 4, ANYWHERE }, { op_protect, 3, NOT_PLAIN },
    { op_advise, 6, NOT_PLAIN }, { op_remap, 5, NOT_PLAIN | NOT_STILL }, { op_break, 6, NOT_PLAIN | NOT_STILL }, { op_map_file, 3, ANYWHERE },
    { op_map_twice, 3, NOT_PLAIN }, { op_shared, 6, NOT_PLAIN }, { op_read_file, 8, ANYWHERE }, { op_write_file, 8, ANYWHERE },
    { op_pipe, 5, ANYWHERE }, { op_sockets, 5, ANYWHERE }, { op_put, 8, ANYWHERE }, { op_get, 8, ANYWHERE },
    { op_close, 4, ANYWHERE }, { op_event, 4, NOT_PLAIN }, { op_duplicate, 4, ANYWHERE }, { op_pass, 3, NOT_PLAIN },
    { op_open, 3, ANYWHERE }, { op_fail, 5, ANYWHERE }, { op_short, 3, ANYWHERE }, { op_edge, 3, ANYWHERE },
    { op_other, 3, ANYWHERE }, { op_await, 10, ANYWHERE }, { op_wake, 7, ANYWHERE }, { op_sleep, 4, ANYWHERE },
    { op_flood, 3, NOT_STILL }, { op_wait_child, 2, NOT_PLAIN }, { op_together, 4, ANYWHERE }, { op_main_awaits, 4, ANYWHERE },
    { op_thread, 3, NOT_PLAIN }, { op_raise, 3, NOT_PLAIN }, { op_interrupt, 4, NOT_PLAIN | NOT_STILL }, { op_fork, 3, NOT_PLAIN | NOT_STILL },
};
enum { KINDS = sizeof ops / sizeof *ops };

static const Op *choose(Random *random)
{
    int total = 0;
    for (int i = 0; i < KINDS; i++) total += ops[i].weight;
    for (;;) {
        int at = (int)below(random, (unsigned)total), i = 0;
        while (at >= ops[i].weight) at -= ops[i++].weight;
        if (!(plain && ops[i].where & NOT_PLAIN) && !(still && ops[i].where & NOT_STILL)) return &ops[i];
    }
}

/* `3,7-20` */
static int wanted(const char *list, int op)
{
    for (char *at = (char *)list; at && *at;) {
        long first = strtol(at, &at, 10), last = *at == '-' ? strtol(at + 1, &at, 10) : first;
        if (op >= first && op <= last) return 1;
        if (*at) at++;
    }
    return !list;
}

/* By another thread at times, which is waited for. */
static const Op *delegated;

static void run_op(int actor, Job *job) { delegated->run(actor, &job->random); }

static void run(const Op *op, Random *random)
{
    int who = chance(random, 40) ? idle_actor(random) : 0;
    if (who) {
        delegated = op;
        Job job = { run_op, of_seed(next(random)), 0, { 0 }, 0, 0 };
        actors[who].delegated = 1;
        tell(who, job);
        until_done(who);
        actors[who].delegated = 0;
    } else {
        op->run(0, random);
    }
}

static void begin_threads(Random *random)
{
    actor_count = 1 + (chance(random, 70) ? 1 + (int)below(random, ACTORS - 1) : 0);
    for (int i = 1; i < actor_count; i++) {
        sem_init(&actors[i].go, 0, 0);
        sem_init(&actors[i].done, 0, 0);
        if (pthread_create(&actors[i].thread, 0, act, (void *)(intptr_t)i)) give_up("pthread_create");
        while (sem_wait(&actors[i].done)) {}
    }
}

static void end_threads(Random *random)
{
    /* Their stacks are used until the last one is awake. */
    for (int i = 1; i < actor_count; i++)
        if (actors[i].waits) wake(0, i, random);
    for (int i = 1; i < actor_count; i++) {
        actors[i].job.run = 0;
        sem_post(&actors[i].go);
        pthread_join(actors[i].thread, 0);
    }
}

/* Memory that all programs have. */
static void first_regions(Random *random)
{
    new_region(GLOBAL, tagged, sizeof tagged, -1);
    for (int i = 0; i < actor_count; i++)
        fill_region(new_region(STACK, actors[i].stack, ON_STACK, -1), random);
    for (int i = 0; i < 2; i++) fill_region(new_region(HEAP, malloc(900), 900, -1), random);
    op_map(0, random);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    seed = strtoull(argv[1], 0, 10);
    folder = argv[2];
    const char *mode = argc > 3 ? argv[3] : "all", *list = argc > 4 ? argv[4] : 0;
    plain = !strcmp(mode, "plain"), still = !strcmp(mode, "still"), follow = !strcmp(mode, "follow");
    /* So that large allocations are mapped however many there were. */
    mallopt(M_MMAP_THRESHOLD, BIG - 4 * PAGE);
    byte stack[ON_STACK];
    actors[0].stack = stack;
    Random random = of_seed(seed);
    name_all();
    make_files();
    set_handlers();
    begin_threads(&random);
    first_regions(&random);
    threads = actor_count;
    operations = 40 + (int)below(&random, 80);
    for (int i = 0; i < operations; i++) {
        Random own = of_seed(seed * 1000 + (uint64_t)i + 1);
        const Op *op = choose(&own);
        if (wanted(list, i)) run(op, &own);
    }
    Random last = of_seed(seed + 12345);
    end_threads(&last);
    report("report");
    return 0;
}
