/* What system calls read and write beside the data that they move: results, lengths, names, times. A part of
 * addfg_main.c.
 *
 * The core knows most, but not what is left of a time, how long a name is, which descriptors are ready, what depends on
 * an option. So for calls of which it says too little or too much it is said here, as the kernel's source has it
 * (Linux, `SYSCALL_DEFINE` of each). What a call changed right behind one of its arguments and nobody told is found by
 * comparison, whichever call it is: what was written as it was before stays unseen.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* Constants that are the same on all instruction sets, and not in each release's headers. */
#define FS_GETFLAGS 0x80006601u
#define FS_GETVERSION 0x80007601u
#define FS_FIEMAP 0xc000660bu
#define CLONE_PIDFD_ 0x1000u
#define FS_BLOCK_SIZE 2u
#define F_OFD_GETLK_ 36
#define ETIMEDOUT_ 110
#define CMSG_HEAD (sizeof(struct vki_cmsghdr))

/* ---- before the call ---- */

static UInt word_at(Addr a) { return readable(a, 4) ? *(const UInt *)a : 0; }

/* A buffer, and where its length stands. */
static void note_room(Call *c, UInt buffer, UInt length)
{
    add_range(&c->asked, c->argument[buffer], c->argument[buffer] ? word_at(c->argument[length]) : 0);
}

/* Of a message: its name, its control data. */
static void note_head(Call *c, const struct vki_msghdr *m)
{
    Bool there = readable((Addr)m, sizeof *m);
    add_range(&c->asked, there ? (Addr)m->msg_name : 0, there && m->msg_name ? (UInt)m->msg_namelen : 0);
    add_range(&c->asked, there ? (Addr)m->msg_control : 0, there ? m->msg_controllen : 0);
}

/* Whose arguments are memory that comes, goes or is another process's, or is written later. */
static Bool makes_memory(UInt number)
{
    switch (number) {
#ifdef __NR_mmap
    case __NR_mmap:
#endif
#ifdef __NR_mmap2
    case __NR_mmap2:
#endif
#ifdef __NR_fork
    case __NR_fork:
#endif
#ifdef __NR_vfork
    case __NR_vfork:
#endif
#ifdef __NR_clone3
    case __NR_clone3:
#endif
    case __NR_clone:
    case __NR_munmap:
    case __NR_mremap:
    case __NR_madvise:
    case __NR_mprotect:
    case __NR_brk:
    case __NR_shmat:
    case __NR_shmdt:
    case __NR_execve:
    case __NR_exit:
    case __NR_exit_group:
    case __NR_rt_sigreturn:
    case __NR_io_submit:
        return True;
    default:
        return False;
    }
}

static void note_kept(Call *c)
{
    c->turn = turns;
    /* Where a thread of the program gives memory its pages (userfaultfd), to look at it is to wait for that. */
    static Bool gives_pages;
    enum { TYPE = 0xff00, USERFAULTFD = 0xaa00 };
    gives_pages |= c->number == __NR_ioctl && (c->argument[1] & TYPE) == USERFAULTFD;
    lacks_pages |= gives_pages;
    for (UInt i = 0; gives_pages && i < KEPT_ARGUMENTS; i++) c->kept[i].size = 0;
    if (gives_pages) return;
    for (UInt i = 0; i < KEPT_ARGUMENTS; i++) {
        Kept *k = c->kept + i;
        k->at = c->argument[i];
        k->size = 0;
        if (k->at < 4096 || makes_memory(c->number)) continue;
        UInt size = KEPT_BYTES;
        while (size && !VG_(am_is_valid_for_client)(k->at, size, VKI_PROT_READ | VKI_PROT_WRITE)) size /= 2;
        while (size && !readable(k->at, size)) size /= 2;
        k->size = size;
        VG_(memcpy)(k->bytes, (const void *)k->at, size);
    }
}

/* A time to wait: what is left of none is not written. Seconds and parts of one, in either structure. */
static void note_time(Call *c, UInt argument)
{
    Addr at = c->argument[argument];
    const UWord *time = (const UWord *)at;
    Bool some = readable(at, 2 * sizeof *time) && (time[0] || time[1]);
    add_range(&c->asked, some ? at : 0, 2 * sizeof *time);
}

static void note_written(Call *c)
{
    c->asked.count = 0;
    note_kept(c);
    switch (c->number) {
#ifdef __NR_accept
    case __NR_accept:
#endif
#ifdef __NR_accept4
    case __NR_accept4:
#endif
    case __NR_getsockname:
    case __NR_getpeername:
        return note_room(c, 1, 2);
    case __NR_recvfrom:
        return note_room(c, 4, 5);
    case __NR_getsockopt:
        return note_room(c, 3, 4);
    case __NR_recvmsg:
        return note_head(c, (const struct vki_msghdr *)c->argument[1]);
    case __NR_recvmmsg: {
        const Message *m = (const Message *)c->argument[1];
        for (UWord i = 0; i < c->argument[2] && i < MOST_PARTS; i++) note_head(c, &m[i].head);
        return;
    }
#ifdef __NR_select
    case __NR_select:
#endif
#ifdef __NR__newselect
    case __NR__newselect:
#endif
    case __NR_pselect6:
        return note_time(c, 4);
    case __NR_ppoll:
        return note_time(c, 2);
    case __NR_ioctl:
        /* Whether it asks for more than the length. */
        if (c->argument[1] == VKI_SIOCGIFCONF && readable(c->argument[2], sizeof(struct vki_ifconf)))
            add_range(&c->asked, (Addr)((const struct vki_ifconf *)c->argument[2])->vki_ifc_buf, 0);
        return;
    }
}

/* ---- behind it ---- */

static void tell_write(Addr a, ULong bytes) { if (a && bytes) tell_access(True, a, bytes, False); }
static void tell_structure(Addr a, ULong bytes) { if (a && bytes) tell_access(True, a, bytes, True); }

static ULong least(ULong a, ULong b) { return a < b ? a : b; }

/* What fits of a name or an option, and how long it is. */
static void tell_room(const Call *c, UInt length, Bool structure)
{
    Range r = c->asked.range[0];
    Addr at = c->argument[length];
    if (!r.address || !readable(at, 4)) return;
    if (least(r.bytes, word_at(at))) tell_access(True, r.address, least(r.bytes, word_at(at)), structure);
    tell_access(True, at, 4, structure);
}

/* Each message of a message's control data, without what is between two. */
static void tell_control(Addr control, ULong bytes)
{
    for (ULong at = 0; at + CMSG_HEAD <= bytes && readable(control + at, CMSG_HEAD);) {
        ULong length = ((const struct vki_cmsghdr *)(control + at))->cmsg_len;
        if (length < CMSG_HEAD) return;
        tell_structure(control + at, least(length, bytes - at));
        at += (length + sizeof(Addr) - 1) & ~(ULong)(sizeof(Addr) - 1);
    }
}

/* `asked`: its name and its control data as they were. */
static void tell_head(const struct vki_msghdr *m, const Range *asked)
{
    if (!readable((Addr)m, sizeof *m)) return;
    if (asked[0].address) {
        tell_structure(asked[0].address, least(asked[0].bytes, (UInt)m->msg_namelen));
        tell_structure((Addr)&m->msg_namelen, 4);
    }
    tell_control(asked[1].address, least(asked[1].bytes, m->msg_controllen));
    tell_structure((Addr)&m->msg_controllen, sizeof m->msg_controllen);
    tell_structure((Addr)&m->msg_flags, 4);
}

static void tell_heads(const Call *c, UWord count)
{
    const Message *m = (const Message *)c->argument[1];
    for (UWord i = 0; i < count && 2 * i < c->asked.count && readable((Addr)(m + i), sizeof *m); i++) {
        tell_head(&m[i].head, c->asked.range + 2 * i);
        tell_structure((Addr)&m[i].length, 4);
    }
    if (count) tell_structure(c->argument[4], sizeof(struct vki_timespec));
}

/* The descriptors that are ready, whole words; what is left of the time. */
static void tell_ready(const Call *c, Bool sets, Bool error, UWord result)
{
    UWord bits = 8 * sizeof(UWord), words = ((UInt)c->argument[0] + bits - 1) / bits;
    for (UInt i = 1; sets && !error && i < 4; i++) tell_write(c->argument[i], words * sizeof(UWord));
    if (error && (result == VKI_EFAULT || result == VKI_EINVAL)) return;
    tell_write(c->asked.range[0].address, c->asked.range[0].bytes);
}

/* The word, which is also read where the call then waits, for nothing or too long. */
static void tell_futex_reads(const Call *c)
{
    const UWord *argument = c->argument;
    Bool times = False;
    switch (argument[1] & 127) {
    case 0:  /* FUTEX_WAIT */
    case 6:  /* FUTEX_LOCK_PI */
    case 9:  /* FUTEX_WAIT_BITSET */
    case 11: /* FUTEX_WAIT_REQUEUE_PI */
    case 13: /* FUTEX_LOCK_PI2 */
        times = True;
        break;
    case 4:  /* FUTEX_CMP_REQUEUE */
    case 7:  /* FUTEX_UNLOCK_PI */
    case 8:  /* FUTEX_TRYLOCK_PI */
    case 12: /* FUTEX_CMP_REQUEUE_PI */
        break;
    case 5: /* FUTEX_WAKE_OP */
        if (readable(argument[4], 4)) tell_access(False, argument[4], 4, False);
        return;
    default:
        return;
    }
    if (readable(argument[0], 4)) tell_access(False, argument[0], 4, False);
    if (times && readable(argument[3], sizeof(struct vki_timespec)))
        tell_access(False, argument[3], sizeof(struct vki_timespec), False);
}

/* Numbers of a child: the kernel writes each for itself, what is between them stays. */
static void tell_child(const Call *c)
{
    Addr info = c->argument[2];
    tell_write(info, 12);
    tell_write(info ? info + (sizeof(Addr) == 8 ? 16 : 12) : 0, 12);
    /* Zeros where no child has changed. */
    if (info ? word_at(info) : 1) tell_write(c->argument[4], sizeof(struct vki_rusage));
}

static void tell_futex(const Call *c)
{
    switch (c->argument[1] & 127) {
    case 6:  /* FUTEX_LOCK_PI */
    case 7:  /* FUTEX_UNLOCK_PI */
    case 8:  /* FUTEX_TRYLOCK_PI */
    case 13: /* FUTEX_LOCK_PI2 */
        return tell_write(c->argument[0], 4);
    case 5: /* FUTEX_WAKE_OP */
        return tell_write(c->argument[4], 4);
    }
}

/* Numbers of whom it made, for the parent; for the child, if their memory is one. `flags`: CLONE_... */
static void tell_made(ULong flags, Addr parent, Addr child, Addr descriptor)
{
    if (flags & VKI_CLONE_PARENT_SETTID) tell_write(parent, 4);
    if (flags & CLONE_PIDFD_) tell_write(descriptor, 4);
    if ((flags & VKI_CLONE_CHILD_SETTID) && (flags & VKI_CLONE_VM)) tell_write(child, 4);
}

/* False: an option of which the core is believed. */
static Bool tell_prctl(const Call *c, UWord result)
{
    switch (c->argument[0]) {
    case 2:  /* PR_GET_PDEATHSIG */
    case 5:  /* PR_GET_UNALIGN */
    case 9:  /* PR_GET_FPEMU */
    case 11: /* PR_GET_FPEXC */
    case 19: /* PR_GET_ENDIAN */
    case 25: /* PR_GET_TSC */
    case 37: /* PR_GET_CHILD_SUBREAPER */
        tell_write(c->argument[1], 4);
        return True;
    case 40: /* PR_GET_TID_ADDRESS */
        tell_write(c->argument[1], sizeof(Addr));
        return True;
    case 0x41555856: /* PR_GET_AUXV */
        tell_write(c->argument[1], least(c->argument[2], result));
        return True;
    default:
        return False;
    }
}

/* A file's handle, and the number of its mount. */
static void tell_handle(const Call *c, Bool error)
{
    Addr handle = c->argument[2];
    tell_write(handle, 8 + (error ? 0 : word_at(handle)));
    tell_write(c->argument[3], c->argument[4] & 1 ? 8 : 4);
}

/* Entries of a folder, without what is between two. `kind`: where the entry's kind stands, from its beginning; 0: behind
 * its end. */
static void tell_entries(Addr at, ULong bytes, UInt kind)
{
    UInt head = 2 * (kind ? 8 : sizeof(Addr)), name = head + (kind ? 3 : 2);
    for (Addr end = at + bytes; at + name < end;) {
        UShort length = *(const UShort *)(at + head);
        if (length < name || length > end - at) return;
        SizeT size = VG_(strlen)((const HChar *)at + name) + 1;
        tell_access(True, at, least(name + size, length), False);
        if (!kind && name + size < length) tell_access(True, at + length - 1, 1, False);
        at += length;
    }
}

/* Structures of interfaces (`ifreq`), that are read whole. */
static Bool has_interface(UWord request)
{
    Bool of_arp = request >= 0x8950 && request <= 0x8962;
    return request >= 0x8910 && request <= 0x8970 && request != VKI_SIOCGIFCONF && !of_arp && sizeof(Addr) == 8;
}

/* And written whole: requests that ask. */
static Bool asks_interface(UWord request)
{
    switch (request) {
    case 0x8910: /* SIOCGIFNAME */
    case 0x8913: /* SIOCGIFFLAGS */
    case 0x8915: /* SIOCGIFADDR */
    case 0x8917: /* SIOCGIFDSTADDR */
    case 0x8919: /* SIOCGIFBRDADDR */
    case 0x891b: /* SIOCGIFNETMASK */
    case 0x891d: /* SIOCGIFMETRIC */
    case 0x8921: /* SIOCGIFMTU */
    case 0x8927: /* SIOCGIFHWADDR */
    case 0x8933: /* SIOCGIFINDEX */
    case 0x8942: /* SIOCGIFTXQLEN */
    case 0x8970: /* SIOCGIFMAP */
        return has_interface(request);
    default:
        return False;
    }
}

/* False: the core is believed. */
static Bool tell_ioctl(const Call *c)
{
    Addr at = c->argument[2];
    /* Without the size that it says. */
    switch ((UInt)c->argument[1] & 0xc000ffff) {
    case FS_GETFLAGS:
    case FS_GETVERSION:
    case FS_BLOCK_SIZE:
        tell_write(at, 4);
        return True;
    case FS_FIEMAP: {
        /* Its head, and what was found. */
        const UInt *head = (const UInt *)at;
        if (!readable(at, 32)) return True;
        tell_write(at, 32);
        tell_write(at + 32, head[6] ? 56ULL * head[5] : 0);
        return True;
    }
    case VKI_SIOCGIFCONF: {
        if (!readable(at, sizeof(struct vki_ifconf))) return True;
        const struct vki_ifconf *list = (const struct vki_ifconf *)at;
        tell_write(at, 4);
        if (c->asked.count) tell_write(c->asked.range[0].address, (UInt)list->ifc_len);
        return True;
    }
    default:
        if (!asks_interface(c->argument[1])) return False;
        tell_write(at, 40);
        return True;
    }
}

static void tell_read(Addr a, ULong bytes) { if (a && bytes) tell_access(False, a, bytes, False); }

#if defined(VGA_amd64)
#define EPOLL_EVENT 12
#else
#define EPOLL_EVENT 16
#endif
#if defined(VGA_amd64) || defined(VGA_arm64)
#define SEMID_DS 104
#define MSQID_DS 120
#else
#define SEMID_DS 64
#define MSQID_DS 88
#endif

/* Tells what the call read. False: the core is believed. */
static Bool tell_reads(const Call *c, Bool error, UWord result)
{
    const UWord *argument = c->argument;
    switch (c->number) {
    case __NR_bind:
    case __NR_connect:
        if (!error || result != VKI_EFAULT) tell_read(argument[1], least((UInt)argument[2], 128));
        return True;
    case __NR_sendto:
        if (!error && argument[4] && argument[5]) tell_access(False, argument[4], least((UInt)argument[5], 128), True);
        return True;
    case __NR_epoll_ctl:
        if (!error && argument[1] != 2) tell_read(argument[3], EPOLL_EVENT);
        return True;
    case __NR_timer_create:
        if (!error) tell_read(argument[1], 64);
        return True;
    case __NR_rt_sigaction:
        if (!error) tell_read(argument[1], 3 * sizeof(Addr) + 8);
        return True;
    case __NR_rt_sigtimedwait:
        if (error && result != VKI_EAGAIN && result != VKI_EINTR) return True;
        tell_read(argument[0], argument[3]);
        tell_read(argument[2], sizeof(struct vki_timespec));
        return True;
    case __NR_rt_sigqueueinfo:
        if (!error) tell_read(argument[2], 48);
        return True;
#ifdef __NR_rt_tgsigqueueinfo
    case __NR_rt_tgsigqueueinfo:
        if (!error) tell_read(argument[3], 48);
        return True;
#endif
#ifdef __NR_semctl
    case __NR_semctl:
        if ((argument[2] & ~256) != 1 /* IPC_SET */) return False;
        if (!error) tell_read(argument[3], SEMID_DS);
        return True;
#endif
#ifdef __NR_msgctl
    case __NR_msgctl:
        if ((argument[1] & ~256) != 1 /* IPC_SET */) return False;
        if (!error) tell_read(argument[2], MSQID_DS);
        return True;
#endif
    case __NR_capset:
        if (error) return True;
        tell_read(argument[0], 8);
        tell_read(argument[1], word_at(argument[0]) == 0x19980330 ? 12 : 24);
        return True;
    case __NR_prctl: {
        if (argument[0] != 15 /* PR_SET_NAME */) return False;
        UInt n = 0;
        while (n < 15 && readable(argument[1] + n, 1) && ((const HChar *)argument[1])[n]) n++;
        if (!error) tell_read(argument[1], least(n + 1, 15));
        return True;
    }
    case __NR_ioctl:
        if (!has_interface(argument[1])) return False;
        if (!error) tell_read(argument[2], 40);
        return True;
    case __NR_fcntl:
        /* F_GETLK, F_SETLK, F_SETLKW, and those of descriptions. */
        if (!((argument[1] >= 5 && argument[1] <= 7) || (argument[1] >= 36 && argument[1] <= 38))) return False;
        if (!error) tell_read(argument[2], sizeof(struct vki_flock));
        return True;
    case __NR_futex:
        if (!error || result == VKI_EAGAIN || result == VKI_EINTR || result == ETIMEDOUT_) tell_futex_reads(c);
        return True;
    default:
        return False;
    }
}

/* Tells what the call wrote beside its data. False: of this call the core is believed. */
static Bool tell_written(const Call *c, Bool error, UWord result)
{
    const UWord *argument = c->argument;
    switch (c->number) {
#ifdef __NR_accept
    case __NR_accept:
#endif
#ifdef __NR_accept4
    case __NR_accept4:
#endif
    case __NR_getsockname:
    case __NR_getpeername:
        if (!error) tell_room(c, 2, False);
        return True;
    case __NR_recvfrom:
        if (!error) tell_room(c, 5, True);
        return True;
    case __NR_getsockopt:
        if (!error) tell_room(c, 4, False);
        return True;
    case __NR_recvmsg:
        if (!error) tell_head((const struct vki_msghdr *)argument[1], c->asked.range);
        return True;
    case __NR_recvmmsg:
        if (!error) tell_heads(c, result);
        return True;
#ifdef __NR_select
    case __NR_select:
#endif
#ifdef __NR__newselect
    case __NR__newselect:
#endif
    case __NR_pselect6:
        tell_ready(c, True, error, result);
        return True;
    case __NR_ppoll:
        tell_ready(c, False, error, result);
        return False;
    case __NR_clone:
        /* What the child finds is told there (`tell_number`). */
        if (error || !result) return True;
#if defined(VGA_amd64)
        tell_made(argument[0], argument[2], argument[3], argument[2]);
#else
        tell_made(argument[0], argument[2], argument[4], argument[2]);
#endif
        return True;
#ifdef __NR_clone3
    case __NR_clone3: {
        /* Flags, a descriptor's address, the child's and the parent's number's. */
        const ULong *of = (const ULong *)argument[0];
        if (!error && result && readable(argument[0], 32)) tell_made(of[0], of[3], of[2], of[1]);
        return True;
    }
#endif
    case __NR_wait4:
        if (error || !result) return True;
        tell_write(argument[1], 4);
        tell_write(argument[3], sizeof(struct vki_rusage));
        return True;
    case __NR_waitid:
        if (!error || result != VKI_EFAULT) tell_child(c);
        return True;
    case __NR_futex:
        if (!error) tell_futex(c);
        return True;
    case __NR_capget:
        if (!error) tell_write(argument[1], word_at(argument[0]) == 0x19980330 ? 12 : 24);
        return True;
    case __NR_sched_getaffinity:
        if (!error) tell_write(argument[2], result);
        return True;
    case __NR_rt_sigpending:
        if (!error) tell_write(argument[0], argument[1]);
        return True;
    case __NR_syslog:
        if (!error && argument[0] >= 2 && argument[0] <= 4) tell_write(argument[1], result);
        return True;
    case __NR_prctl:
        return !error && tell_prctl(c, result);
    case __NR_ioctl:
        return !error && tell_ioctl(c);
    case __NR_fcntl:
        if (error || (argument[1] != VKI_F_GETLK && argument[1] != F_OFD_GETLK_)) return False;
        tell_write(argument[2], sizeof(struct vki_flock));
        return True;
#ifdef __NR_name_to_handle_at
    case __NR_name_to_handle_at:
        if (!error || result == VKI_EOVERFLOW) tell_handle(c, error);
        return True;
#endif
#if defined(__NR_msgctl) && (defined(VGA_amd64) || defined(VGA_arm64))
    case __NR_msgctl:
        /* IPC_STAT, MSG_STAT, MSG_STAT_ANY */
        if (error || ((argument[1] & ~256) != 2 && (argument[1] & ~256) != 11 && (argument[1] & ~256) != 13)) return False;
        tell_write(argument[2], MSQID_DS);
        return True;
#endif
    default:
        return False;
    }
}

/* What is other than it was at the arguments, and was not told. */
static void tell_changed(const Call *c)
{
    if (c->turn != turns) return;
    for (UInt i = 0; i < KEPT_ARGUMENTS; i++) {
        const Kept *k = c->kept + i;
        if (k->size && !readable(k->at, k->size)) continue;
        const UChar *now = (const UChar *)k->at;
        for (UInt from = 0; from < k->size;) {
            UInt to = from;
            while (to < k->size && now[to] != k->bytes[to]) to++;
            if (to > from) tell_access(True, k->at + from, to - from, False);
            from = to + 1;
        }
    }
}

/* What was told is known of what is kept. */
static void keep_told(Call *c, Addr a, ULong bytes)
{
    for (UInt i = 0; i < KEPT_ARGUMENTS; i++) {
        Kept *k = c->kept + i;
        Addr from = a > k->at ? a : k->at, to = a + bytes < k->at + k->size ? a + bytes : k->at + k->size;
        if (from < to) VG_(memcpy)(k->bytes + (from - k->at), (const void *)from, to - from);
    }
}
