//! Signals that addfg needs in its own way, whatever who started it has done with them: a recorded program finds them as
//! addfg was given them.

use std::sync::atomic::{AtomicBool, Ordering};

/// Signals, and what addfg does with each: who ignores its children's ends never learns how they ended, and a file that
/// may not become larger is an error of writing.
const OWN: [(i32, libc::sighandler_t); 2] =
    [(libc::SIGCHLD, libc::SIG_DFL), (libc::SIGXFSZ, libc::SIG_IGN)];

/// Which of them addfg was given ignored.
static IGNORED: [AtomicBool; OWN.len()] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Has them as addfg needs them: once, when it begins.
pub fn take_signals() {
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
}
