/* What a signal puts onto the stack before its handler runs. A part of addfg_qemu.c.
 *
 * QEMU does it in the kernel's place, without a word to plugins. It is found where the handler begins: the frame is at
 * the stack pointer then. What is taken for a frame has to look like one; frames that were not found are said.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */

/* Where the stack pointer is in that state, the first argument, and the link register or the frame pointer. */
static struct { unsigned stack, argument, link; } of_state;

/* By signal. */
static struct { addfg_u64 handler, restorer; bool with_info; } handled[65];
/* Of their addresses: most blocks are none of these. */
static addfg_u64 handler_bits;
static addfg_u32 frames, frames_left;

static addfg_u64 bit_of(addfg_u64 address) { return 1ull << (address >> 2 & 63); }

enum { SIGNAL_WITH_INFO = 4, SIGNAL_WITH_RESTORER = 0x04000000 };

/* A call that gave a signal a handler. */
static void note_handler(const OpenCall *c)
{
    addfg_u64 signal = c->argument[0], at = c->argument[1], w = word_size();
    bool old = is_named(c->rule, "sigaction");
    if ((!old && !is_named(c->rule, "rt_sigaction")) || !at || signal > 64) return;
    addfg_u64 flags = word_at(at + (old ? 2 * w : w));
    handled[signal].handler = word_at(at) & ~(addfg_u64)arm;
    handled[signal].restorer = flags & SIGNAL_WITH_RESTORER ? word_at(at + (old ? 3 * w : 2 * w)) : 0;
    handled[signal].with_info = flags & SIGNAL_WITH_INFO;
    handler_bits |= bit_of(handled[signal].handler);
}

/* As the program's memory is read: an emulator may have the state elsewhere. */
static addfg_u64 in_state(const void *state, unsigned at)
{
    addfg_u64 value = 0;
    struct iovec local = { &value, word_size() }, remote = { (addfg_u8 *)state + at, word_size() };
    return process_vm_readv(own_pid, &local, 1, &remote, 1, 0) == (ssize_t)word_size() ? value : 0;
}

static void tell_frame(addfg_u64 at, addfg_u64 bytes)
{
    addfg_u64 values[2] = { at, bytes };
    event(ADDFG_KERNEL_WRITE, values, 2, NULL);
}

/* What fxsave leaves, and xsave if it says so. */
static void tell_floats(addfg_u64 at)
{
    addfg_u32 bytes = u32_at(at + 464) == 0x46505853 ? u32_at(at + 468) : 512;
    if (at) tell_frame(at, bytes >= 512 && bytes <= 16384 ? bytes : 512);
}

static void tell_frame_x86(addfg_u64 stack, bool with_info)
{
    if (!bits32) {
        tell_frame(stack, 440); /* where it returns to, the context, what it comes with */
        return tell_floats(word_at(stack + 232));
    }
    addfg_u64 context = with_info ? u32_at(stack + 12) + 20 : stack + 8, floats = u32_at(context + 76);
    tell_frame(stack, with_info ? 16 : 96);
    if (with_info) {
        tell_frame(u32_at(stack + 8), 128);
        tell_frame(context - 20, 116);
    } else tell_frame(stack + 720, 4); /* the rest of the mask */
    if (!floats) return;
    tell_frame(floats, 112);
    tell_floats(floats + 112);
}

/* Records of what the processor has, each with its kind and its length. */
static void tell_frame_arm64(addfg_u64 stack, addfg_u64 frame_pointer)
{
    addfg_u64 at = stack + 592, end = at + 16384;
    tell_frame(stack, 584);
    while (at < end && u32_at(at) && u32_at(at + 4) >= 8) at += u32_at(at + 4);
    tell_frame(stack + 592, at + 8 - (stack + 592));
    tell_frame(frame_pointer, 16);
}

/* A handler begins at this address, if a signal came: tells its frame. */
static void tell_signal_of(addfg_u64 address, const void *state)
{
    addfg_u64 stack = in_state(state, of_state.stack), link = in_state(state, of_state.link);
    bool x86 = merges, is_one = false;
    addfg_u64 signal = x86 && bits32 ? u32_at(stack + 4) : in_state(state, of_state.argument);
    address &= ~(addfg_u64)arm;
    if (signal > 64 || handled[signal].handler != address) return;
    addfg_u64 restorer = handled[signal].restorer;
    bool with_info = handled[signal].with_info;
    if (x86) is_one = restorer ? word_at(stack) == restorer : word_at(stack) - stack < 16384;
    else if (arm && restorer) is_one = link == restorer;
    else if (arm64) is_one = link - stack < 16384 && word_at(link) == word_at(stack + 544) && word_at(link + 8) == word_at(stack + 552);
    else is_one = u32_at(stack) == signal && (!arm || with_info);
    if (!is_one) return;
    frames++;
    event(ADDFG_SIGNAL, &signal, 1, NULL);
    if (x86) return tell_frame_x86(stack, with_info);
    if (arm64) return tell_frame_arm64(stack, link);
    if (!arm) return tell_frame(stack, 820);
    addfg_u64 context = stack + (with_info ? 128 : 0), code = context + 744;
    if (with_info) tell_frame(stack, 128);
    tell_frame(context, 524);
    /* Code that nobody runs, from version 8.2 on: mov r7, and the call. */
    if (u32_at(code) >> 8 == 0xe3a070 && u32_at(code + 4) >> 24 == 0xef) tell_frame(code, 8);
}

/* A handler has ended. */
static void leave_frame(const OpenCall *c)
{
    static bool said;
    addfg_u64 warning = 1, none = 0;
    if (!is_named(c->rule, "rt_sigreturn") && !is_named(c->rule, "sigreturn")) return;
    event(ADDFG_SIGNAL_END, &none, 1, NULL);
    if (++frames_left <= frames || said) return;
    said = true;
    event(ADDFG_PROBLEM, &warning, 1, "signals: what they put onto the stack was not found, and has the writer of before");
}

/* By ELF machine and bits. */
static void find_state(addfg_u32 machine)
{
    if (machine == EM_X86_64) of_state.stack = 32, of_state.argument = 56;
    if (machine == EM_386) of_state.stack = 16;
    if (machine == EM_ARM) of_state.stack = 52, of_state.link = 56;
    if (machine == EM_AARCH64) of_state.stack = 312, of_state.argument = 64, of_state.link = 296;
    if (machine == EM_RISCV && !bits32) of_state.stack = 16, of_state.argument = 80;
}
