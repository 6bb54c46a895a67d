//! What a picture of the whole never keeps of a run-time system: start-up, string, allocation and
//! locking functions; and the functions that read and write files. Only functions of which the image
//! or the source file says that they are a run-time system's are looked for here: a program may give its
//! own any name.

/// Names, without their leading underscores, of functions that run before `main`, behind it, or
/// between a thread's begin and its function.
const START_UP: &[&str] = &[
    "start",
    "libc_start",
    "libc_csu",
    "libc_early_init",
    "libc_init",
    "libc_setup",
    "init",
    "fini",
    "call_init",
    "call_fini",
    "frame_dummy",
    "do_global",
    "register_tm",
    "deregister_tm",
    "cxa_finalize",
    "run_exit_handlers",
    "exit",
    "start_thread",
    "clone",
    "clone3",
    "tunables",
    "lang_start",
    "rust_begin_short_backtrace",
    "std::rt::",
    "std::sys_common::backtrace::",
    "std::sys::backtrace::",
];

/// The begins of names, without leading underscores, of functions that any program uses everywhere.
const EVERYWHERE: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "memrchr",
    "mempcpy",
    "memmem",
    "bcmp",
    "strlen",
    "strnlen",
    "strcpy",
    "strncpy",
    "stpcpy",
    "strcat",
    "strncat",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strchr",
    "strchrnul",
    "strrchr",
    "strstr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strdup",
    "strndup",
    "strcoll",
    "strtol",
    "strtoul",
    "rawmemchr",
    "wmemset",
    "toupper",
    "tolower",
    "ctype",
    "errno_location",
    "tls_get_addr",
    "stack_chk",
    "sysfree",
    "systrim",
    "unlink_chunk",
    "tcache",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "int_memalign",
    "morecore",
    "sbrk",
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "madvise",
    "Znwm",
    "ZdlPv",
    "rdl_alloc",
    "rdl_dealloc",
    "rdl_realloc",
    "rg_alloc",
    "alloc::alloc::",
    "alloc::raw_vec::",
    "core::ptr::drop_in_place",
    "pthread_mutex",
    "pthread_cond",
    "pthread_rwlock",
    "pthread_once",
    "pthread_getspecific",
    "pthread_setspecific",
    "pthread_cleanup",
    "pthread_self",
    "lll_lock",
    "lll_unlock",
    "futex",
    "cxa_guard",
    "cxa_atexit",
    "std::forward",
    "std::move",
    "std::allocator",
    "std::__addressof",
    "setjmp",
    "sigsetjmp",
    "longjmp",
    "x86.get_pc",
];

/// And functions that allocate: a function with most of its steps below them is a wrapper.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "int_malloc",
    "int_free",
    "int_realloc",
    "operator new",
    "operator delete",
    "rust_alloc",
    "rust_dealloc",
    "rust_realloc",
    "sysmalloc",
];

const READS: &[&str] = &[
    "fread",
    "getc",
    "fgetc",
    "getc_unlocked",
    "fgets",
    "gets",
    "getline",
    "getdelim",
    "scanf",
    "fscanf",
    "read",
    "pread",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "uflow",
    "underflow",
];

const WRITES: &[&str] = &[
    "fwrite",
    "putc",
    "fputc",
    "putc_unlocked",
    "puts",
    "fputs",
    "putchar",
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "printf_chk",
    "fprintf_chk",
    "write",
    "pwrite",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "fflush",
    "fclose",
    "perror",
    "overflow",
];

/// A name without what compilers and libraries add: leading underscores, `GI_`, `IO_`, the file
/// behind it.
fn stem(name: &str) -> &str {
    let mut name = name.split(" (").next().unwrap_or(name).trim_start_matches('_');
    for mark in ["GI_", "libc_", "IO_", "new_file_", "new_", "isoc99_", "isoc23_"] {
        // `libc_start` and the like are names of their own.
        if let Some(rest) = name.strip_prefix(mark)
            && !rest.starts_with("start")
            && !rest.starts_with("early")
        {
            name = rest.trim_start_matches('_');
        }
    }
    name
}

/// Whether a name begins with one of the words, and the word ends there.
fn among(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        name.strip_prefix(word).is_some_and(|rest| {
            word.ends_with("::") || !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        })
    })
}

/// Whether a function of a run-time system is start-up's, or one that any program uses everywhere.
pub fn never_kept(name: &str) -> bool {
    let short = stem(name);
    name.starts_with("_dl_")
        || name.starts_with("<unknown")
        || among(name.trim_start_matches('_'), START_UP)
        || among(short, START_UP)
        || among(short, EVERYWHERE)
        || among(short, ALLOCATORS)
}

pub fn allocates(name: &str) -> bool {
    among(stem(name), ALLOCATORS)
}

pub fn reads_files(name: &str) -> bool {
    READS.contains(&stem(name))
}

pub fn writes_files(name: &str) -> bool {
    WRITES.contains(&stem(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_what_libraries_add_are_known() {
        for name in [
            "__memcpy_avx_unaligned_erms",
            "_int_free",
            "__GI___libc_malloc",
            "__strlen_avx2",
            "_start",
            "_dl_fixup",
            "__libc_start_main_impl",
        ] {
            assert!(never_kept(name), "{name}");
        }
        for name in
            ["main", "strategy", "freeze", "initialise", "mainSort", "starter", "handle_compress"]
        {
            assert!(!never_kept(name), "{name}");
        }
        assert!(
            reads_files("_IO_fread") && writes_files("__GI__IO_fwrite") && !reads_files("reader")
        );
    }
}
