/* addfg's plugin for QEMU: writes the executed instructions and their memory accesses as a stream
 * (docs/stream.md), with threads and system calls.
 *
 *     qemu-arm -plugin libaddfg.so,stream=app.stream ./app
 *
 * QEMU tells of each translated block when it begins and of each access when it is made. The
 * accesses of one execution of a block make its shape; each shape that is met is a block of the
 * stream: a conditional load that was not made is none of it.
 *
 * One thread has the turn and writes into the one buffer, so that the order of the stream is the
 * order in which memory changed. It gives the turn up in system calls and after many blocks, and
 * loses it when it waits (QEMU stops all others for what must be done alone).
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */
#define _GNU_SOURCE
#include "plugin_api.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "addfg_stream.h"

EXPORTED int qemu_plugin_version = 1;

/* QEMU from 9.0 on refuses plugins of version 1. It is known by a function that came then. */
extern int qemu_plugin_num_vcpus(void) __attribute__((weak));

__attribute__((constructor)) static void say_version(void)
{
    if (qemu_plugin_num_vcpus) qemu_plugin_version = 2;
}

/* Runs wait here; a block that begins behind BUFFER has the buffer packed first. */
#define BUFFER (1 << 20)
#define SLACK (1 << 16)
/* Accesses of one execution of a block; what is behind is not recorded, and said. */
#define ACCESSES 4096
/* Blocks of a turn while others wait, and how long one waits for a thread that does nothing. */
#define TURN 100000
#define WAIT_NS 2000000

/* A shape: how many instructions ran, and what each access is (instruction << 8 | write << 7 | log2 of its bytes). */
typedef struct {
    addfg_u32 path, instructions, count;
    addfg_u32 *kind;
} Shape;

#define NO_PART 0x7f

/* A translated block. It lives as long as the plugin: QEMU does not tell when it drops one. */
typedef struct Block {
    addfg_u32 instructions, shapes, room;
    /* Its last instruction may be none: x86's reaches into the next page, and QEMU begins a block
     * of its own with it, but lists what it had read. */
    bool cut;
    Shape *shape;
    addfg_u64 *address;
    addfg_u8 *size, *bytes, *part;
    /* Of an instruction of x86 that repeats itself: accesses of one time. What is from it on is a block, too. */
    addfg_u8 *each;
    struct Block **rest;
    /* Instructions with an operand in memory of which QEMU may tell nothing. */
    bool *helped;
    /* Conditional stores. */
    bool *conditional;
} Block;

static addfg_stream stream;
static int stream_fd = -1;
static addfg_u16 elf_machine;
static bool recording, bits32, merges, user_mode, arm, arm64, m_profile, counts;
static addfg_u8 buffer[BUFFER + SLACK + 8 * ACCESSES];
static addfg_u8 *cursor = buffer;

/* The block that the thread with the turn executes, and its accesses until now. Their addresses
 * stand in the buffer, behind the place of the run's path. */
static Block *running;
static addfg_u32 running_on;
/* Its last instruction was begun again. */
static bool again;
static addfg_u32 made, dropped;
static addfg_u32 kind[ACCESSES];

/* Instructions that have begun, where they are counted: an exception, or a wait for one, leaves a block in its middle. */
static addfg_u64 counted, counted_before;
/* QEMU 9 and later count for each processor. */
static qemu_plugin_u64 counter;

static addfg_u64 begun(unsigned vcpu) { return counter.score ? qemu_plugin_u64_get(counter, vcpu) : counted; }

static void tell_maps(void);
static void tell_begun(void);

/* ---- threads ---- */

typedef struct {
    addfg_u32 number; /* in the stream; 0: it has not begun */
    bool in_call;
    pid_t task;
    /* Where ARM's kernel is to exchange so many bytes for it. */
    addfg_u32 helped, helped_bytes;
} Thread;

#define THREADS 65536
static Thread thread[THREADS];
static addfg_u32 threads_begun, told;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_free = PTHREAD_COND_INITIALIZER;
#define NOBODY 0xffffffffu
static _Atomic addfg_u32 owner = NOBODY;
static _Atomic addfg_u32 waiting;
static addfg_u32 blocks_left;
/* Grows with each block: a thread whose turn it is and that does nothing is overtaken. */
static _Atomic addfg_u64 progress;
/* The thread whose turn it is writes into the stream, and may wait for the disk. */
static _Atomic bool writing;

/* ---- the stream's file ---- */

/* A thread of our own writes the stream. It has its descriptors for itself: those of the program are its own business, which may
 * close all that are open and get a number again for a file of its own. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const addfg_u8 *bytes; /* what is to be written */
    addfg_u32 length;
    const char *text; /* what is to be said on standard error */
    bool busy, failed, ready;
} writer = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, NULL, false, false, false };

static bool write_to(int fd, const addfg_u8 *p, size_t length)
{
    while (length) {
        ssize_t n = write(fd, p, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        length -= (size_t)n;
    }
    return true;
}

static void *write_stream(void *nothing)
{
    /* Standard error, and the stream; no other file or pipe is to stay open for its sake. */
    bool own = !unshare(CLONE_FILES);
    if (own && stream_fd != 3) own = dup3(stream_fd, 3, O_CLOEXEC) == 3;
    close(0);
    close(1);
    if (own && syscall(SYS_close_range, 4, ~0u, 0))
        for (int fd = 4; fd < 1024; fd++) close(fd);
    pthread_mutex_lock(&writer.lock);
    writer.failed = !own;
    writer.ready = true;
    for (;;) {
        pthread_cond_broadcast(&writer.changed);
        while (!writer.busy) pthread_cond_wait(&writer.changed, &writer.lock);
        writer.failed = !write_to(3, writer.bytes, writer.length);
        if (writer.text) write_to(2, (const addfg_u8 *)writer.text, strlen(writer.text));
        writer.busy = false;
    }
    return NULL;
}

/* False: there is no such thread. */
static bool begin_writer(void)
{
    pthread_t thread;
    sigset_t all, before;
    /* Signals are for the program's threads; that of a pipe that nobody reads any more is an error here. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = !pthread_create(&thread, NULL, write_stream, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&writer.lock);
    while (begun && !writer.ready) pthread_cond_wait(&writer.changed, &writer.lock);
    begun = begun && !writer.failed;
    pthread_mutex_unlock(&writer.lock);
    return begun;
}

static bool have_written(const void *bytes, addfg_u32 length, const char *text)
{
    pthread_mutex_lock(&writer.lock);
    writer.bytes = bytes;
    writer.length = length;
    writer.text = text;
    writer.busy = true;
    pthread_cond_broadcast(&writer.changed);
    while (writer.busy) pthread_cond_wait(&writer.changed, &writer.lock);
    bool failed = writer.failed;
    pthread_mutex_unlock(&writer.lock);
    return !failed;
}

static int write_all(void *context, const void *bytes, addfg_u32 length) { return !have_written(bytes, length, NULL); }

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[512];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    have_written(NULL, 0, text);
}

static void pack(void)
{
    writing = true;
    addfg_flush(&stream, buffer, cursor);
    cursor = buffer;
    writing = false;
    if (stream.failed && recording) {
        say("addfg: the stream cannot be written any more: the recording ends here\n");
        recording = false;
    }
}

/* check.h. */
static bool checking;
static void check_event(addfg_u32 what, const addfg_u64 *values);
static void check_access(addfg_u64 address, unsigned bytes, bool store, addfg_u64 instruction);

static void event(addfg_u32 what, const addfg_u64 *values, unsigned count, const char *text)
{
    if (checking) check_event(what, values);
    addfg_u32 length = text ? (addfg_u32)strnlen(text, 4096) : 0;
    if (cursor > buffer + BUFFER) pack();
    addfg_u8 *head = cursor, *o = cursor + 8;
    for (unsigned i = 0; i < count; i++) o = addfg__varint(o, values[i]);
    if (text) {
        o = addfg__varint(o, length);
        addfg__copy(o, (const addfg_u8 *)text, length);
        o += length;
    }
    addfg_u32 word = ADDFG_EVENT | what, bytes = (addfg_u32)(o - head - 8);
    memcpy(head, &word, 4);
    memcpy(head + 4, &bytes, 4);
    cursor = o;
}

/* What follows is of this thread. */
static void tell_thread(addfg_u32 vcpu)
{
    if (!threads_begun && user_mode) tell_maps();
    bool begins = !thread[vcpu].number;
    if (begins) {
        addfg_u64 start[2] = { ++threads_begun, told };
        thread[vcpu].number = threads_begun;
        event(ADDFG_THREAD_START, start, 2, NULL);
    }
    if (told != thread[vcpu].number) {
        addfg_u64 number = told = thread[vcpu].number;
        event(ADDFG_THREAD, &number, 1, NULL);
    }
    if (begins && user_mode) tell_begun();
}

/* ---- exceptions ---- */

/* QEMU tells plugins nothing of exceptions, but its log of them (-d int), each line before the handler's first block begins. addfg record
 * has the log written into memory that has a descriptor, log=NUMBER: whether there is more costs one look a block. */
#define WINDOW (1 << 20)
#define THREADS_WITH_REGISTERS 16
static int log_fd = -1;
static char *log_window;
static addfg_u64 log_start;
static addfg_u32 log_at;

static bool open_log(void)
{
    if (log_window && log_at < WINDOW) return true;
    if (log_window) {
        munmap(log_window, WINDOW);
        fallocate(log_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)log_start, WINDOW);
        log_start += WINDOW;
        log_at = 0;
        log_window = NULL;
    }
    struct stat now;
    off_t end = (off_t)(log_start + 2 * WINDOW);
    /* It grows before it is written: what is behind its end cannot be looked at. */
    if (fstat(log_fd, &now) || (now.st_size < end && ftruncate(log_fd, end))) return false;
    char *at = mmap(NULL, WINDOW, PROT_READ, MAP_SHARED, log_fd, (off_t)log_start);
    if (at == MAP_FAILED) return false;
    log_window = at;
    return true;
}

static addfg_u64 number_behind(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    return at ? strtoull(at + strlen(words), NULL, 10) : NOBODY;
}

/* Registers of ARM's M profile that say where the processor keeps what it interrupts; QEMU 9 and later tell them. */
static const char *const stacking[4] = { "xpsr", "sp", "psp", "lr" };
static struct qemu_plugin_register *stacked[THREADS_WITH_REGISTERS][4];
static GByteArray *value_of;

static void on_processor(qemu_plugin_id_t id, unsigned vcpu)
{
    if (vcpu >= THREADS_WITH_REGISTERS) return;
    GArray *all = qemu_plugin_get_registers();
    if (!all) return;
    size_t bytes = g_array_get_element_size(all);
    for (unsigned i = 0; i < all->len; i++) {
        qemu_plugin_reg_descriptor *one = (void *)(all->data + i * bytes);
        for (unsigned j = 0; j < 4; j++)
            if (!strcmp(one->name, stacking[j])) stacked[vcpu][j] = one->handle;
    }
}

static bool tells_registers(void)
{
    return qemu_plugin_get_registers && qemu_plugin_read_register && g_array_get_element_size && g_byte_array_new && g_byte_array_set_size;
}

/* Says them as a line of the log. */
static void tell_registers(unsigned vcpu, addfg_u64 number)
{
    addfg_u32 value[4];
    char line[128];
    if (!m_profile || !value_of || vcpu >= THREADS_WITH_REGISTERS) return;
    for (unsigned j = 0; j < 4; j++) {
        g_byte_array_set_size(value_of, 0);
        if (!stacked[vcpu][j] || qemu_plugin_read_register(stacked[vcpu][j], value_of) != 4) return;
        memcpy(value + j, value_of->data, 4);
    }
    snprintf(line, sizeof line, "...registers xpsr=%x sp=%x psp=%x lr=%x", value[0], value[1], value[2], value[3]);
    event(ADDFG_EMULATOR, &number, 1, line);
}

/* Hands on the lines that have come. */
static void tell_log(addfg_u32 vcpu)
{
    static char line[512];
    static addfg_u32 length, of;
    bool told_lines = false;
    while (open_log() && log_window[log_at]) {
        char c = log_window[log_at++];
        if (c != '\n') {
            if (length < sizeof line - 1) line[length++] = c;
            continue;
        }
        line[length] = 0;
        length = 0;
        if (strncmp(line, "...", 3)) {
            addfg_u64 cpu = number_behind(line, " on CPU ");
            if (cpu == NOBODY) cpu = number_behind(line, "hart:");
            of = cpu < THREADS && thread[cpu].number ? (addfg_u32)cpu : vcpu;
        }
        told_lines = true;
        addfg_u64 number = thread[of].number;
        event(ADDFG_EMULATOR, &number, 1, line);
    }
    /* No more of what they begin to say comes. */
    addfg_u64 number = thread[of].number;
    if (told_lines && of == vcpu) tell_registers(vcpu, number);
    if (told_lines) event(ADDFG_EMULATOR, &number, 1, "");
}

/* ---- runs ---- */

/* An instruction was found of whose operand QEMU told nothing. */
static bool untold;

static void look_for_untold(const Block *b, addfg_u32 instructions)
{
    for (addfg_u32 i = 0; b->helped && i < instructions; i++) {
        addfg_u32 k = 0;
        while (k < made && kind[k] >> 8 != i) k++;
        untold |= b->helped[i] && k == made;
    }
}

static void say_untold(void)
{
    static bool said;
    addfg_u64 warning = 1;
    untold = false;
    if (said) return;
    said = true;
    event(ADDFG_PROBLEM, &warning, 1, "instructions that store or load the processor's state, or numbers of 80 bits (xsave, fxsave, fstpt and the like): this QEMU (9.1 and later) does not tell where, and their bytes have the writer of before");
}

static addfg_u32 new_shape(Block *b, addfg_u32 instructions)
{
    writing = true;
    look_for_untold(b, instructions);
    addfg_access *access = malloc((made + 1) * sizeof *access);
    addfg_u32 count = 0, fields = made;
    for (addfg_u32 i = 0; i < made; i++) {
        addfg_access a = { kind[i] >> 8, 1u << (kind[i] & 0x7f), kind[i] >> 7 & 1, ADDFG_FIELD, 0, 0 };
        access[count++] = a;
    }
    addfg_u32 number = addfg_block(&stream, instructions, b->address, b->size, b->bytes, count, access);
    free(access);
    if (b->shapes == b->room) {
        b->room = b->room ? b->room * 2 : 1;
        b->shape = realloc(b->shape, b->room * sizeof *b->shape);
    }
    Shape *s = b->shape + b->shapes++;
    s->path = addfg_path(&stream, number, instructions, count, fields);
    s->instructions = instructions;
    s->count = made;
    s->kind = malloc(made * sizeof *s->kind + 1);
    memcpy(s->kind, kind, made * sizeof *kind);
    writing = false;
    return s->path;
}

/* What was running has ended behind its first `n` instructions. */
static void end_run_behind(addfg_u32 n)
{
    Block *b = running;
    running = NULL;
    addfg_u32 i = 0, path;
    if (counts) {
        addfg_u64 ran = begun(running_on) - counted_before;
        if (ran < n) n = (addfg_u32)ran;
    }
    if (!n) {
        made = 0;
        return;
    }
    for (; i < b->shapes; i++) {
        Shape *s = b->shape + i;
        if (s->instructions == n && s->count == made && !memcmp(s->kind, kind, made * sizeof *kind)) break;
    }
    if (i < b->shapes) {
        path = b->shape[i].path;
        if (i) { /* the one met last is looked for first */
            Shape s = b->shape[i];
            b->shape[i] = b->shape[i - 1];
            b->shape[i - 1] = s;
        }
    } else {
        path = new_shape(b, n);
    }
    memcpy(cursor, &path, 4);
    cursor += 4 + 8 * (size_t)made;
    made = 0;
    if (cursor > buffer + BUFFER) pack();
}

/* The block that was running has ended. */
static void end_run(void)
{
    if (running) end_run_behind(running->instructions);
}

/* ---- turns ---- */

static void give_turn(addfg_u32 vcpu)
{
    pthread_mutex_lock(&lock);
    if (owner == vcpu) {
        end_run();
        owner = NOBODY;
        pthread_cond_signal(&turn_free);
    }
    pthread_mutex_unlock(&lock);
}

/* Whether a thread waits for something, rather than for a processor. */
static bool sleeps(pid_t task)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = 0;
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

static void take_turn(addfg_u32 vcpu)
{
    pthread_mutex_lock(&lock);
    waiting++;
    while (owner != NOBODY) {
        addfg_u64 before = progress;
        addfg_u32 whose = owner;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NS;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        int late = pthread_cond_timedwait(&turn_free, &lock, &until);
        if (late && owner == whose && progress == before && !writing && sleeps(thread[whose].task) && !writing
            && progress == before) {
            end_run();
            owner = NOBODY;
        }
    }
    waiting--;
    thread[vcpu].task = gettid();
    owner = vcpu;
    blocks_left = TURN;
    writing = true;
    tell_thread(vcpu);
    writing = false;
    pthread_mutex_unlock(&lock);
}

static void tell_if_signal(addfg_u64 address, const void *state);
static void tell_helper(unsigned vcpu);

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void addfg_on_block(unsigned vcpu, void *data, const void *state);
HIDDEN void addfg_block_begins(unsigned vcpu, void *data);

HIDDEN void addfg_on_helper(unsigned vcpu, void *data, const void *state);
HIDDEN void addfg_helper_begins(unsigned vcpu, void *data);
/* Functions that ARM's kernel has for programs, which exchange a word, or two, where they find another one. */
#define EXCHANGE 0xffff0fc0
#define EXCHANGE_64 0xffff0f60

/* While the program's code runs, from which blocks are called, a register of the host has the address of what QEMU knows of the thread:
 * it is the third argument. Elsewhere it is not known. */
#if defined(__x86_64__)
__asm__(".text\naddfg_block_begins:\n mov %rbp, %rdx\n jmp addfg_on_block\n"
        "addfg_helper_begins:\n mov %rbp, %rdx\n jmp addfg_on_helper\n");
#elif defined(__aarch64__)
__asm__(".text\naddfg_block_begins:\n mov x2, x19\n b addfg_on_block\n"
        "addfg_helper_begins:\n mov x2, x19\n b addfg_on_helper\n");
#else
void addfg_block_begins(unsigned vcpu, void *data) { addfg_on_block(vcpu, data, NULL); }
void addfg_helper_begins(unsigned vcpu, void *data) { addfg_on_helper(vcpu, data, NULL); }
#endif

void addfg_on_block(unsigned vcpu, void *data, const void *state)
{
    if (!recording || vcpu >= THREADS) return;
    if (thread[vcpu].helped) tell_helper(vcpu);
    if (owner == vcpu) {
        Block *next = data, *b = running;
        if (b && b->cut && !b->shapes) {
            addfg_u32 last = b->instructions - 1;
            if (next->address[0] == b->address[last] && next->size[0] > b->size[last]) b->instructions--;
        }
        end_run();
        if (--blocks_left == 0) {
            blocks_left = TURN;
            if (waiting) {
                give_turn(vcpu);
                sched_yield();
                take_turn(vcpu);
            }
        }
    } else {
        take_turn(vcpu);
    }
    atomic_store_explicit(&progress, progress + 1, memory_order_relaxed);
    if (log_fd >= 0 && (!log_window || log_at == WINDOW || log_window[log_at])) tell_log(vcpu);
    tell_if_signal(((Block *)data)->address[0], state);
    if (untold) say_untold();
    running = data;
    running_on = vcpu;
    again = false;
    if (counts) counted_before = begun(vcpu);
}

/* Tells of the device on a page that is accessed for the first time, if there is one. */
static void look_for_device(qemu_plugin_meminfo_t info, addfg_u64 address)
{
    static addfg_u64 known[1 << 12]; /* pages + 1 */
    static addfg_u8 fields[8 * ACCESSES];
    addfg_u64 page = address >> 12;
    if (known[page & 4095] == page + 1) return;
    known[page & 4095] = page + 1;
    /* What controls the processor itself has its place in the architecture. */
    if (m_profile && address >= 0xe0000000) return;
    struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, address);
    if (!at || !qemu_plugin_hwaddr_is_io(at)) return;
    const char *name = qemu_plugin_hwaddr_device_name(at);
    /* Before the run that has begun. */
    memcpy(fields, cursor + 4, 8 * (size_t)made);
    addfg_u64 values[2] = { page << 12, 4096 };
    event(ADDFG_DEVICE, values, 2, name && *name ? name : "without a name");
    memcpy(cursor + 4, fields, 8 * (size_t)made);
}

/* A bit of the first megabytes of memory, or of devices, has a word of its own on some processors, which for QEMU is a device. What is
 * accessed is the byte that the bit lies in. (ARMv7-M Architecture Reference Manual, B3.1 and the Cortex-M3's bit-banding.) */
static bool is_bit(qemu_plugin_meminfo_t info, addfg_u64 address)
{
    if (!m_profile || (address >> 25 != 0x22000000 >> 25 && address >> 25 != 0x42000000 >> 25)) return false;
    struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, address);
    if (!at || !qemu_plugin_hwaddr_is_io(at)) return false;
    const char *name = qemu_plugin_hwaddr_device_name(at);
    return name && !strncmp(name, "bitband", 7);
}

static addfg_u64 byte_of_bit(addfg_u64 address) { return (address & 0xfe000000) - 0x2000000 + ((address & 0x1ffffff) >> 5); }

static addfg_u32 instruction_at(const Block *b, addfg_u64 address)
{
    addfg_u32 i = b->instructions;
    while (i-- && (b->address[i] | arm) != (address | arm)) continue;
    return i;
}

/* An instruction that accesses a device is to be the last of its block (in QEMU 8.2 and later; before, where instructions are the clock).
 * Where it is not, QEMU leaves the block within it and does it as a block of its own, of which it tells only the accesses. */
static addfg_u32 begin_again(addfg_u64 address)
{
    addfg_u32 i = instruction_at(running, address);
    while (!again && made && kind[made - 1] >> 8 == i) made--;
    again = true;
    return i;
}

static void add_access(addfg_u32 what, addfg_u64 address)
{
    addfg_u8 *field = cursor + 4 + 8 * (size_t)made;
    if (merges && made && (what & 0x7f) == 3 && kind[made - 1] == what && addfg__get64(field - 8) + 8 == address) {
        kind[made - 1] = what + 1; /* halves of a vector */
        return;
    }
    if (made == ACCESSES) {
        dropped++;
        return;
    }
    if (bits32) address = (addfg_u32)address;
    kind[made++] = what;
    memcpy(field, &address, 8);
}

/* An instruction that repeats itself begins anew with each time, as if it had branched to itself: from version 9.2 on QEMU goes
 * round within its block. */
static void begin_next_time(addfg_u32 i)
{
    Block *b = running, *rest = b->rest[i];
    addfg_u32 of_this = 0;
    while (of_this < made && kind[made - 1 - of_this] >> 8 == i) of_this++;
    if (of_this < b->each[i]) return;
    if (!rest) {
        size_t before = 0;
        for (addfg_u32 k = 0; k < i; k++) before += b->size[k];
        rest = b->rest[i] = calloc(1, sizeof *rest);
        *rest = (Block){ .instructions = b->instructions - i, .cut = b->cut && i + 1 < b->instructions, .address = b->address + i, .size = b->size + i,
            .bytes = b->bytes + before, .part = b->part + i, .each = b->each + i, .helped = b->helped ? b->helped + i : NULL, .conditional = b->conditional ? b->conditional + i : NULL, .rest = calloc(b->instructions - i, sizeof *rest->rest) };
        if (!i) rest->rest[0] = rest;
    }
    end_run_behind(i + 1);
    running = rest;
    if (counts) counted_before = begun(running_on) - 1;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    if (owner != vcpu || !running) return;
    const addfg_u64 *of = data;
    size_t i = ((uintptr_t)of - (uintptr_t)running->address) / sizeof *of;
    if (i >= running->instructions && (i = begin_again(*of)) >= running->instructions) return;
    if (running->each && running->each[i]) {
        begin_next_time((addfg_u32)i);
        i = (size_t)(of - running->address);
    }
    addfg_u32 size = qemu_plugin_mem_size_shift(info), part = running->part[i];
    bool bit = !user_mode && is_bit(info, address);
    if (bit) {
        address = byte_of_bit(address);
        size = part = 0;
    } else if (!user_mode) look_for_device(info, address);
    if (checking && !bit) check_access(address, 1u << size, qemu_plugin_mem_is_store(info), running->address[i]);
    if (running->conditional && running->conditional[i] && !qemu_plugin_mem_is_store(info)) return;
    addfg_u32 what = (addfg_u32)i << 8 | (addfg_u32)qemu_plugin_mem_is_store(info) << 7;
    if (size == part + 1) {
        add_access(what | part, address);
        add_access(what | part, address + (1u << part));
    } else {
        add_access(what | size, address);
    }
}

/* Bytes of an instruction, if it is Thumb's. Of one that ends two bytes before a page does, QEMU has looked at what is behind it, and
 * tells both. */
static addfg_u8 thumb_size(const Block *b, addfg_u32 i, const addfg_u8 *code)
{
    addfg_u8 size = code[1] < 0xe8 ? 2 : 4;
    /* Pages of whole machines are of 1 KiB. */
    bool more = b->size[i] == size + 2 && ((b->address[i] + size) & 1023) == 0x3fe;
    return more || m_profile ? size : b->size[i];
}

/* Code that was found to be Thumb's. */
static void take_as_thumb(Block *b)
{
    const addfg_u8 *code = b->bytes;
    addfg_u8 *to = b->bytes;
    for (addfg_u32 i = 0; i < b->instructions; i++) {
        addfg_u8 told = b->size[i];
        b->size[i] = thumb_size(b, i, code);
        memmove(to, code, b->size[i]);
        to += b->size[i];
        code += told;
        b->address[i] |= 1;
    }
}

/* Whether code that could be one of Thumb's branches (or of its system instructions, which end blocks, too) is one, by what QEMU makes
 * of it: 1, 0, or -1 if that does not tell. */
static int is_branch(const addfg_u8 *code, struct qemu_plugin_insn *insn)
{
    static const char *const conditions[16] = { "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", "x" };
    char *text = qemu_plugin_insn_disas(insn), word[8] = "";
    if (text) sscanf(text, "%7s", word);
    free(text);
    if (!*word) return -1;
    if ((code[3] & 0x0e) == 0x0a) { /* a branch in ARM's eyes, too: each has words of its own */
        const char *arm = code[3] >> 4 == 15 || code[3] & 1 ? "bl" : "b";
        size_t length = strlen(arm);
        return strncmp(word, arm, length) || strcmp(word + length, conditions[code[3] >> 4]);
    }
    return (code[3] & 0xd0) == 0x80 ? *word != 'l' && *word != 'p' : *word == 'b';
}

/* Whether a block is the beginning of a longer one. */
static bool begins(const Block *b, const Block *longer)
{
    if (!longer || longer->instructions <= b->instructions || (longer->address[0] & ~1ull) != b->address[0]) return false;
    addfg_u32 bytes = 0, of_longer = 0;
    for (addfg_u32 i = 0; i < b->instructions; i++) bytes += b->size[i], of_longer += longer->size[i];
    return bytes == of_longer && !memcmp(b->bytes, longer->bytes, bytes);
}

/* Whether code of ARM is Thumb, which QEMU does not tell: it has instructions of two bytes, or
 * between words, or all begin as Thumb's of four bytes do and the last is one of these that branch, in QEMU's eyes, too
 * (`ldr pc, [sp], #4` has the bytes of a call). What could be a branch in both is as the code near it. */
static bool is_thumb(const Block *b, struct qemu_plugin_insn *end)
{
    if (m_profile) return true;
    /* One that is begun again. */
    addfg_u32 known = running && b->instructions == 1 ? instruction_at(running, b->address[0]) : NOBODY;
    if (known != NOBODY) return running->address[known] & 1;
    static addfg_u8 near[1 << 16]; /* by 64 bytes: 1 ARM, 2 Thumb */
    const addfg_u8 *code = b->bytes, *last = code;
    bool two = false, four = true;
    for (addfg_u32 i = 0; i < b->instructions; code += b->size[i++]) {
        two = two || b->size[i] == 2 || b->size[i] == 6 || b->address[i] & 2;
        four = four && !two && (code[1] >= 0xe8 || thumb_size(b, i, code) == 2);
        last = code;
    }
    addfg_u32 line = (addfg_u32)(b->address[0] >> 6);
    /* Where instructions are the clock, blocks end early: what was longer tells more. */
    static const Block *longer[1 << 14];
    const Block **old = longer + (b->address[0] >> 1 & 0x3fff);
    if (begins(b, *old)) return (*old)->address[0] & 1;
    *old = b;
    if (!two && four) {
        /* Its second half begins with 1, or it loads; at the end of a page a block ends with whatever stands there. */
        int branch = last[1] >> 3 == 0x1e && last[3] & 0x80 ? is_branch(last, end) : 0;
        bool load = (last[1] >= 0xe8 && last[1] <= 0xe9) || last[1] == 0xf8;
        addfg_u64 page = user_mode ? 4095 : 1023;
        bool cut = (b->address[b->instructions - 1] & page) == page - 3 && !(branch || load);
        bool told = branch > 0 && !cut;
        four = branch || load || cut;
        for (addfg_u32 far = 0; four && !told && (cut || (last[3] & 0x0e) == 0x0a); far++) {
            addfg_u8 before = near[(line - far) & 0xffff], behind = near[(line + far) & 0xffff];
            if (before || behind) return (before ? before : behind) == 2;
            /* Instructions of ARM have no condition, mostly. */
            if (far == 64) return cut && last[3] >> 4 != 0xe;
        }
    }
    near[line & 0xffff] = two || four ? 2 : 1;
    return two || four;
}

/* From version 3 on QEMU copies the bytes itself. */
static bool qemu_copies;

static void copy_bytes(const struct qemu_plugin_insn *insn, addfg_u8 *to, size_t size)
{
    size_t (*copy)(const struct qemu_plugin_insn *, void *, size_t) = (void *)qemu_plugin_insn_data;
    if (qemu_copies) copy(insn, to, size);
    else memcpy(to, qemu_plugin_insn_data(insn), size);
}

/* log2 of the bytes of each register of an instruction that loads or stores two: QEMU 10 does both at once, tells one access. */
static addfg_u8 part_of(const addfg_u8 *code, addfg_u8 size, bool thumb)
{
    addfg_u32 word = 0;
    if (size == 4) memcpy(&word, code, 4);
    if (arm) {
        if (thumb) word = word << 16 | word >> 16;
        bool both = thumb ? (word >> 16 & 0xfe40) == 0xe840 && word >> 16 & 0x0120 : (word & 0x0e1000d0) == 0xd0;
        return both ? 2 : NO_PART;
    }
    if (!arm64) return NO_PART;
    bool store = !(word & 1 << 22), exclusive = (word & 0xffa00000) == 0xc8200000;
    if (exclusive) return 3;
    if ((word & 0x3c000000) != 0x28000000) return NO_PART;
    /* Its kinds are words, words with a sign (or what tags memory, if that is a store), and 8 bytes. */
    return word >> 30 == 2 || (word >> 30 == 1 && store) ? 3 : 2;
}

/* Whether it is a store that is done only where nobody has written since a load before: QEMU compares what is there, and says that it
 * loads it. The processor does not. */
static bool is_conditional_store(const addfg_u8 *code, addfg_u8 size, bool thumb)
{
    addfg_u32 word = 0;
    if (size != 4) return false;
    memcpy(&word, code, 4);
    if (thumb) return (word & 0xfff0) == 0xe840 || (word & 0xfff0) == 0xe8c0; /* strex, strexb, stlex */
    if (arm) return (word & 0x0f9000f0) == 0x01800090;
    if (arm64) return (word & 0x3fe00000) == 0x08000000 || (word & 0xbfe00000) == 0x88200000; /* stxr, stxp */
    return !merges && (word & 0xf800007f) == 0x1800002f; /* sc.w, sc.d: RISC-V is what is left */
}

/* Bytes of prefixes of an instruction of x86; `of_size`: one is of those that make it another instruction. */
static addfg_u8 prefixes(const addfg_u8 *code, addfg_u8 size, bool *of_size, bool *repeats)
{
    addfg_u8 i = 0;
    *of_size = *repeats = false;
    for (; i + 1 < size; i++) {
        addfg_u8 c = code[i];
        if (c == 0xf2 || c == 0xf3) *repeats = true;
        else if (c == 0x66) *of_size = true;
        else if (c != 0x67 && c != 0x26 && c != 0x2e && c != 0x36 && c != 0x3e && c != 0x64 && c != 0x65 && (bits32 || c >> 4 != 4)) break;
    }
    return i;
}

/* Whether it stores or loads what from version 9.1 on QEMU does without a word: the processor's state, numbers of 80 bits. */
static bool may_be_untold(const addfg_u8 *code, addfg_u8 size)
{
    bool of_size, repeats;
    addfg_u8 i = prefixes(code, size, &of_size, &repeats), what = code[i];
    bool two = what == 0x0f && i + 2 < size;
    if (two) what = code[++i];
    if (i + 1 >= size || code[i + 1] >> 6 == 3) return false;
    unsigned of = code[i + 1] >> 3 & 7;
    if (two) return !of_size && !repeats && (what == 0xae ? of < 2 || (of > 3 && of < 7) : what == 0xc7 && of > 2 && of < 6);
    switch (what) {
    case 0xd9: /* fldenv, fnstenv */
    case 0xdd: /* frstor, fnsave */
    case 0xdf: /* fbld, fbstp */
        return of == 4 || of == 6;
    case 0xdb: /* fld, fstp of 80 bits */
        return of == 5 || of == 7;
    default:
        return false;
    }
}

/* How many accesses each time has of an instruction of x86 that repeats itself; 0: it is none. */
static addfg_u8 repeated(const addfg_u8 *code, addfg_u8 size)
{
    bool of_size, repeats;
    addfg_u8 i = prefixes(code, size, &of_size, &repeats);
    addfg_u8 what = code[i] & 0xfe;
    if (!repeats || i + 1 < size) return 0;
    return what == 0xa4 || what == 0xa6 ? 2 : what == 0xaa || what == 0xac || what == 0xae || what == 0x6c || what == 0x6e ? 1 : 0;
}

/* Where the program's code began. */
static addfg_u64 first_address;

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    if (!recording) return;
    size_t count = qemu_plugin_tb_n_insns(tb), bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
    /* Helpers of ARM's kernel have no instructions: QEMU does them itself. */
    addfg_u64 first = qemu_plugin_tb_vaddr(tb);
    if (!first_address) first_address = first;
    if (arm && user_mode && (first == EXCHANGE || first == EXCHANGE_64))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, addfg_helper_begins, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)first);
    if (arm && user_mode && first >= 0xffff0000) return;
    if (!count) return;
    Block *b = calloc(1, sizeof *b);
    b->instructions = (addfg_u32)count;
    b->address = malloc(count * sizeof *b->address);
    b->size = malloc(count);
    b->part = malloc(count);
    b->bytes = malloc(bytes);
    addfg_u8 *o = b->bytes;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        b->address[i] = qemu_plugin_insn_vaddr(insn);
        b->size[i] = (addfg_u8)qemu_plugin_insn_size(insn);
        copy_bytes(insn, o, b->size[i]);
        o += b->size[i];
        if (counter.score) qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
        else if (counts) qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &counted, 1);
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, b->address + i);
    }
    /* Only that profile has its first stack pointer in a table, and QEMU says so when it begins. */
    static const char reset[] = "Loaded reset SP ";
    if (arm && !m_profile && log_fd >= 0 && open_log() && !log_start) m_profile = !memcmp(log_window, reset, sizeof reset - 1);
    bool thumb = arm && is_thumb(b, qemu_plugin_tb_get_insn(tb, count - 1));
    if (thumb) take_as_thumb(b);
    o = b->bytes;
    for (size_t i = 0; i < count; o += b->size[i++]) {
        b->part[i] = part_of(o, b->size[i], thumb);
        if (!is_conditional_store(o, b->size[i], thumb)) continue;
        if (!b->conditional) b->conditional = calloc(count, sizeof *b->conditional);
        b->conditional[i] = true;
    }
    o = b->bytes;
    for (size_t i = 0; merges && i < count; o += b->size[i++]) {
        addfg_u8 each = repeated(o, b->size[i]);
        if (each && !b->each) {
            b->each = calloc(count, 1);
            b->rest = calloc(count, sizeof *b->rest);
        }
        if (each) b->each[i] = each;
        bool helped = may_be_untold(o, b->size[i]);
        if (helped && !b->helped) b->helped = calloc(count, sizeof *b->helped);
        if (helped) b->helped[i] = true;
    }
    addfg_u64 last = b->address[count - 1];
    b->cut = merges && count > 1 && (last ^ (last + 15)) >> 12;
    bool reads = m_profile && value_of;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, addfg_block_begins, reads ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS, b);
}

/* ---- the program's memory ---- */

/* Where address 0 of the program is, once that is known. */
static addfg_u64 guest_base;
static bool guest_known;
static pid_t own_pid;

static bool guest_read(addfg_u64 address, void *to, size_t bytes)
{
    struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)(guest_base + address), bytes };
    return guest_known && process_vm_readv(own_pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* What of the program's ELF file is needed: its first segment of code, and its interpreter. */
typedef struct {
    addfg_u64 address, offset, entry;
    addfg_u16 machine;
    char interpreter[256];
} Program;

static bool read_program(const char *path, Program *program)
{
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    if (fd < 0) return false;
    if (pread(fd, &head, sizeof head, 0) == sizeof head && !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
        bool wide = head.e_ident[EI_CLASS] == ELFCLASS64;
        Elf32_Ehdr narrow;
        memcpy(&narrow, &head, sizeof narrow);
        unsigned count = wide ? head.e_phnum : narrow.e_phnum;
        program->machine = head.e_machine;
        program->entry = wide ? head.e_entry : narrow.e_entry;
        addfg_u64 at = wide ? head.e_phoff : narrow.e_phoff;
        for (unsigned i = 0; i < count; i++) {
            Elf64_Phdr p;
            Elf32_Phdr q;
            if (wide ? pread(fd, &p, sizeof p, at + i * sizeof p) != sizeof p
                     : pread(fd, &q, sizeof q, at + i * sizeof q) != sizeof q) break;
            if (!wide) p = (Elf64_Phdr) { q.p_type, q.p_flags, q.p_offset, q.p_vaddr, 0, q.p_filesz, q.p_memsz, 0 };
            if (p.p_type == PT_LOAD && p.p_flags & PF_X && (!found || p.p_vaddr < program->address)) {
                found = true;
                program->address = p.p_vaddr;
                program->offset = p.p_offset;
            }
            size_t length = p.p_filesz < 255 ? p.p_filesz : 255;
            if (p.p_type == PT_INTERP && pread(fd, program->interpreter, length, p.p_offset) < 0) break;
        }
    }
    close(fd);
    return found;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The program's file, by QEMU's command line: the first word that is one. Releases 10.0 do not tell it, by mistake. */
static const char *named_program(void)
{
    static char words[1 << 16];
    Program program;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0) close(fd);
    for (ssize_t at = length > 0 ? (ssize_t)strlen(words) + 1 : length; at < length; at += (ssize_t)strlen(words + at) + 1) {
        program = (Program){ 0 };
        if (read_program(words + at, &program) && program.machine == elf_machine) return words + at;
    }
    return NULL;
}

/* By where its first instruction stands: in its file, or in that of its interpreter, of whose mappings this is one. */
static void find_base(const char *file, addfg_u64 start, addfg_u64 end, addfg_u64 offset, const Program *program)
{
    Program of = *program;
    bool interpreted = *program->interpreter;
    const char *wanted = base_name(program->interpreter);
    if (interpreted && (strncmp(base_name(file), wanted, strlen(wanted)) || !read_program(file, &of))) return;
    addfg_u64 at = of.entry - of.address + of.offset - offset;
    if (guest_known || at >= end - start) return;
    guest_base = start + at - first_address;
    guest_known = true;
}

/* Tells which files are mapped at the beginning: those of the program and of its interpreter, which
 * stand in this process. Later ones come by system calls. */
static void tell_maps(void)
{
    bool tells = qemu_plugin_path_to_binary && qemu_plugin_start_code;
    const char *binary = tells ? qemu_plugin_path_to_binary() : named_program();
    char path[4096], interpreter[4096] = "", line[8192];
    Program program = { 0 };
    if (!binary || !realpath(binary, path) || !read_program(path, &program)) return;
    own_pid = getpid();
    addfg_u64 process[1] = { (addfg_u64)own_pid };
    event(ADDFG_PROCESS, process, 1, path);
    addfg_u64 page = 4095, own_loader = getauxval(AT_BASE);
    for (int pass = 0; pass < 2; pass++) {
        FILE *maps = fopen("/proc/self/maps", "re");
        bool own = false;
        if (!maps) return;
        while (fgets(line, sizeof line, maps)) {
            addfg_u64 start, end, offset;
            char prot[8], file[4096] = "";
            if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095[^\n]", &start, &end, prot, &offset, file) < 5) continue;
            bool its = !strcmp(file, path);
            if (pass == 0) {
                /* The kernel joins neighbours that have the same protection for QEMU. */
                addfg_u64 inside = (program.offset & ~page) - offset;
                /* QEMU itself may have the same interpreter. */
                if (offset == 0) own = start == own_loader;
                if (!tells && !own && (its || *program.interpreter)) find_base(file, start, end, offset, &program);
                if (tells && its && !guest_known && inside < end - start) {
                    guest_base = start + inside - (qemu_plugin_start_code() & ~page);
                    guest_known = true;
                }
                continue;
            }
            bool named = *program.interpreter && *file == '/'
                && !strncmp(base_name(file), base_name(program.interpreter), strlen(base_name(program.interpreter)));
            if (named && start == own_loader) strcpy(interpreter, "-"); /* QEMU's own stands first */
            if (named && offset == 0) snprintf(interpreter, sizeof interpreter, "%s", start == own_loader ? "-" : file);
            if (!its && (!named || strcmp(interpreter, file))) continue;
            /* QEMU executes none of it itself: what is not written may be code. */
            bool write = prot[1] == 'w';
            addfg_u64 values[4] = { start - guest_base, end - start, write ? 6 : 5, offset };
            event(ADDFG_MAP, values, 4, file);
        }
        fclose(maps);
        if (!guest_known) return;
    }
}

#include "system_calls.h"
#include "check.h"
#include "signals.h"

/* ---- system calls ---- */

static addfg_u32 exit_code;

/* What each descriptor was told to be open on. */
#define DESCRIPTORS 1024
static char *descriptor[DESCRIPTORS];

static const char *file_of(addfg_u64 fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", (int)fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return NULL;
    path[length] = 0;
    return path;
}

static void tell_descriptor(addfg_u64 fd)
{
    char path[4096];
    if (fd >= DESCRIPTORS || !file_of(fd, path) || (descriptor[fd] && !strcmp(descriptor[fd], path))) return;
    free(descriptor[fd]);
    descriptor[fd] = strdup(path);
    event(ADDFG_DESCRIPTOR, &fd, 1, path);
}

/* Calls whose data is named by what a descriptor is open on: their argument. */
static int descriptor_of(const CallRule *rule)
{
    static const char *const of_first[] = { "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2",
        "recv", "send", "recvfrom", "sendto", "recvmsg", "sendmsg", "recvmmsg", "recvmmsg_time64", "sendmmsg", "getdents", "getdents64", "ioctl",
        "vmsplice", "splice", "tee", "copy_file_range", "mq_timedreceive", "mq_timedsend", "mq_timedreceive_time64", "mq_timedsend_time64", NULL };
    static const char *const of_second[] = { "sendfile", "sendfile64", NULL };
    return is_one_of(rule, of_first) ? 0 : is_one_of(rule, of_second) ? 1 : -1;
}

#include "files.h"

/* By thread. */
static OpenCall *open_call[THREADS];
static unsigned calls_known;

static void tell_begun(void) { tell_number(open_call, calls_known); }

/* The process becomes another program, unless the call fails: what was recorded is written before. */
static void before_exec(addfg_u64 file)
{
    char path[4096] = "";
    guest_read_some(file, path, sizeof path - 1);
    event(ADDFG_EXEC, NULL, 0, path);
    pack();
}

static void on_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                    uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    if (!recording || vcpu >= THREADS) return;
    if (owner != vcpu) take_turn(vcpu);
    end_run();
    addfg_u64 values[8] = { (addfg_u64)number, ARGUMENTS, a1, a2, a3, a4, a5, a6 };
    for (int i = 2; bits32 && i < 8; i++) values[i] = (addfg_u32)values[i];
    OpenCall *c = open_call[vcpu];
    if (!c && !(c = open_call[vcpu] = calloc(1, sizeof *c))) return;
    if (vcpu >= calls_known) calls_known = vcpu + 1;
    bool is_plain = call_unpacks(c, number, values + 2);
    if (!is_plain && c->rule && c->rule->number[column] >= 0) {
        values[0] = (addfg_u64)c->rule->number[column];
        memcpy(values + 2, c->argument, sizeof c->argument);
    }
    int of = descriptor_of(c->rule);
    if (of >= 0) tell_descriptor(c->argument[of]);
    if (is_named(c->rule, "exit_group")) exit_code = (addfg_u32)a1 & 255;
    leave_frame(c);
    event(ADDFG_SYSCALL, values, 8, NULL);
    call_begins(c);
    c->taken_back = page_to_take_back(c);
    thread[vcpu].in_call = true;
    if (is_named(c->rule, "execve")) before_exec(c->argument[0]);
    if (is_named(c->rule, "execveat")) before_exec(c->argument[1]);
    if (is_named(c->rule, "set_tid_address")) note_cleared(gettid(), c->argument[0]);
    if (!is_named(c->rule, "exit")) {
        give_turn(vcpu);
        return;
    }
    /* The turn is kept until it has ended: nobody sees the number before it is cleared, or is told so. */
    addfg_u64 at = take_cleared(open_call, calls_known), end[2] = { 0, 0 };
    if (at) {
        tell_range(c, true, at, 4, true);
        if (checking) check_forget(at, 4); /* It is cleared later. */
        event(ADDFG_SYSCALL_END, end, 2, NULL);
    }
}

static void on_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
    if (!recording || vcpu >= THREADS || !thread[vcpu].in_call) return;
    thread[vcpu].in_call = false;
    take_turn(vcpu);
    OpenCall *c = open_call[vcpu];
    if (bits32) result = (int32_t)result;
    bool failed = result < 0 && result >= -4095;
    addfg_u64 values[2] = { failed, failed ? (addfg_u64)-result : bits32 ? (addfg_u32)result : (addfg_u64)result };
    call_returns(c, failed, values[1]);
    if (!failed) {
        tell_effect(c);
        note_handler(c);
    }
    event(ADDFG_SYSCALL_END, values, 2, NULL);
}

/* ---- beginning and end ---- */

static void on_thread_end(qemu_plugin_id_t id, unsigned vcpu)
{
    if (!recording || vcpu >= THREADS) return;
    if (owner != vcpu) take_turn(vcpu);
    end_run();
    addfg_u64 number = thread[vcpu].number;
    event(ADDFG_THREAD_END, &number, 1, NULL);
    /* A later thread may have the same index. */
    thread[vcpu].number = 0;
    thread[vcpu].in_call = false;
    give_turn(vcpu);
}

static void on_idle(qemu_plugin_id_t id, unsigned vcpu)
{
    if (recording) give_turn(vcpu);
}

static void on_end(qemu_plugin_id_t id, void *data)
{
    pthread_mutex_lock(&lock);
    if (recording) {
        end_run();
        if (untold) say_untold();
        pack();
        addfg_end(&stream, exit_code);
        recording = false;
        check_end();
        if (dropped) say("addfg: %u accesses of blocks with more than %d were left out\n", dropped, ACCESSES);
    }
    pthread_mutex_unlock(&lock);
}

/* A signal that ends the program: QEMU restores what it does by default, and sends it to itself, without a word to plugins. addfg record
 * loads this plugin before the C library (LD_PRELOAD), so that QEMU calls this; the program's own calls of kill() do not come here. */
EXPORTED int kill(pid_t pid, int signal)
{
    struct sigaction now;
    if (recording && user_mode && signal && pid == getpid() && !sigaction(signal, NULL, &now) && now.sa_handler == SIG_DFL) {
        exit_code = 128 + (addfg_u32)signal;
        on_end(0, NULL);
    }
    return (int)syscall(SYS_kill, pid, signal);
}

static void tell_if_signal(addfg_u64 address, const void *state)
{
    if (handler_bits & bit_of(address & ~(addfg_u64)arm) && state && of_state.stack) tell_signal_of(address, state);
}

/* One of ARM's functions begins, with its arguments in registers: what is looked for, what is put there (or where these stand), where.
 * It is one step of the thread that has the turn; what it did is told behind it. */
void addfg_on_helper(unsigned vcpu, void *data, const void *state)
{
    bool wide = (uintptr_t)data == EXCHANGE_64;
    unsigned bytes = wide ? 8 : 4;
    addfg_u64 warning = 1, found = 0, wanted = 0, values[2] = { 0, bytes };
    static bool said;
    if (!recording || vcpu >= THREADS) return;
    if (owner != vcpu) take_turn(vcpu);
    end_run();
    if (!state || !guest_known) {
        if (!said) event(ADDFG_PROBLEM, &warning, 1, "what ARM's kernel exchanges for the program (kuser_cmpxchg) is not known, and has the writer of before");
        said = true;
        return;
    }
    addfg_u64 old = in_state(state, 0), at = in_state(state, 8);
    for (unsigned i = 0; wide && i < 2; i++) {
        values[0] = in_state(state, 4 * i);
        event(ADDFG_KERNEL_READ, values, 2, NULL);
    }
    values[0] = at;
    event(ADDFG_KERNEL_READ, values, 2, NULL);
    if (wide) guest_read(old, &wanted, 8);
    else wanted = old;
    if (!guest_read(at, &found, bytes) || found != wanted) return;
    thread[vcpu].helped = (addfg_u32)at;
    thread[vcpu].helped_bytes = bytes;
}

static void tell_helper(unsigned vcpu)
{
    addfg_u64 values[2] = { thread[vcpu].helped, thread[vcpu].helped_bytes };
    thread[vcpu].helped = 0;
    if (owner != vcpu) take_turn(vcpu);
    end_run();
    event(ADDFG_KERNEL_WRITE, values, 2, NULL);
}

/* A child process records nothing; the parent goes on. */
static void in_child(void)
{
    recording = false;
    pthread_mutex_init(&lock, NULL);
}

static const struct {
    const char *name;
    addfg_u16 machine;
    addfg_u8 bits;
    addfg_u8 column; /* of system_calls.def */
} targets[] = {
    { "x86_64", EM_X86_64, 64, 0 }, { "i386", EM_386, 32, 1 },      { "arm", EM_ARM, 32, 2 },
    { "aarch64", EM_AARCH64, 64, 3 }, { "riscv64", EM_RISCV, 64, 3 }, { "riscv32", EM_RISCV, 32, 4 },
};

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    const char *name = "addfg.stream";
    qemu_copies = info->version.cur >= 3;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "stream=", 7)) {
            name = argv[i] + 7;
        } else if (!strncmp(argv[i], "log=", 4)) {
            log_fd = atoi(argv[i] + 4);
        } else if (!strcmp(argv[i], "check=yes")) {
            checking = true;
        } else {
            fprintf(stderr, "addfg: unknown argument %s (there are stream=FILE, log=DESCRIPTOR and check=yes)\n", argv[i]);
            return 1;
        }
    }
    size_t i = 0, known = sizeof targets / sizeof *targets;
    while (i < known && strcmp(targets[i].name, info->target_name)) i++;
    if (i == known) {
        fprintf(stderr, "addfg: programs for %s are not recorded\n", info->target_name);
        return 1;
    }
    stream_fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream_fd < 0) {
        fprintf(stderr, "addfg: cannot write %s: %s\n", name, strerror(errno));
        return 1;
    }
    if (!begin_writer()) {
        fprintf(stderr, "addfg: no thread can be had that writes %s\n", name);
        return 1;
    }
    /* The program has no descriptors but its own. */
    int inherited = strncmp(name, "/dev/fd/", 8) ? -1 : atoi(name + 8);
    if (inherited > 2) close(inherited);
    close(stream_fd);
    bits32 = targets[i].bits == 32;
    elf_machine = targets[i].machine;
    merges = targets[i].machine == EM_X86_64 || targets[i].machine == EM_386;
    arm = targets[i].machine == EM_ARM;
    arm64 = targets[i].machine == EM_AARCH64;
    column = targets[i].column;
    find_rules();
    find_state(targets[i].machine);
    pthread_atfork(NULL, NULL, in_child);
    user_mode = !info->system_emulation;
    if (!user_mode && qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu) counter.score = qemu_plugin_scoreboard_new(sizeof counted);
    /* Without numbers of their own, several processors would count at a time. */
    counts = !user_mode && (counter.score || (info->system.max_vcpus == 1 && qemu_plugin_register_vcpu_insn_exec_inline));
    addfg_begin_telling(&stream, write_all, NULL, targets[i].machine, targets[i].bits, user_mode ? 0 : ADDFG_WHOLE_MACHINE);
    recording = true;
    if (arm && !user_mode && tells_registers() && (value_of = g_byte_array_new())) qemu_plugin_register_vcpu_init_cb(id, on_processor);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
    qemu_plugin_register_vcpu_idle_cb(id, on_idle);
    if (user_mode) {
        qemu_plugin_register_vcpu_syscall_cb(id, on_call);
        qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
    }
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
