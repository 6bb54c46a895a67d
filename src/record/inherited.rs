//! Signals that addfg needs in its own way, whatever who started it has done with them: a recorded program finds them as
//! addfg was given them.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals, and what addfg does with each: who ignores its children's ends never learns how they ended, and a file that
/// may not become larger is an error of writing.
const OWN: [(i32, libc::sighandler_t); 2] =
    [(libc::SIGCHLD, libc::SIG_DFL), (libc::SIGXFSZ, libc::SIG_IGN)];

/// Which of them addfg was given ignored.
static IGNORED: [AtomicBool; OWN.len()] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Signals that addfg was given blocked.
static BLOCKED: OnceLock<libc::sigset_t> = OnceLock::new();

/// Whether addfg was given SIGPIPE ignored. Rust's library ignores it in each program before `main`, and gives children its
/// default.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_pipe() {
    // SAFETY: zeros are a `sigaction`, which is only asked for.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut now);
        PIPE_IGNORED.store(now.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
#[used]
// SAFETY: functions that the system calls before `main`, of this type.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note_pipe;

/// Has them as addfg needs them: once, when it begins.
pub fn take_signals() {
    // SAFETY: zeros are a `sigset_t`, and what is blocked is only asked for.
    let blocked = unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked);
        blocked
    };
    let _ = BLOCKED.set(blocked);
    for ((signal, own), ignored) in OWN.iter().zip(&IGNORED) {
        // SAFETY: no handler is set.
        let before = unsafe { libc::signal(*signal, *own) };
        ignored.store(before == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// Has them as addfg was given them, in a child before `exec`: nothing here may allocate or lock. (Valgrind gives its
/// programs SIGCHLD's default all the same.)
pub(super) fn give_back_signals() {
    for ((signal, _), ignored) in OWN.iter().zip(&IGNORED) {
        let given = if ignored.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: no handler is set.
        unsafe { libc::signal(*signal, given) };
    }
    if PIPE_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: no handler is set.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    if let Some(blocked) = BLOCKED.get() {
        // SAFETY: the set is one that the system gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) };
    }
}
