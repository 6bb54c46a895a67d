//! What ends addfg from outside: signals, and files that become shorter while they are read.

use super::pager;
use super::say::say;
use crate::files;
use signal_hook::consts::{SIGABRT, SIGBUS, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;
use signal_hook::iterator::{Signals, SignalsInfo};

/// Removes what is not whole, and ends the process. Nothing else is torn down: other threads run
/// on until then.
fn end(code: i32) -> ! {
    files::remove_unfinished();
    // The terminal is the pager's until it has ended.
    pager::end();
    // SAFETY: it ends the process.
    unsafe { libc::_exit(code) }
}

/// Whether who started addfg wants a signal to be ignored, as `nohup` does.
fn ignored(signal: i32) -> bool {
    // SAFETY: sigaction fills the structure, for which zeros are valid.
    unsafe {
        let mut found: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut found) == 0
            && found.sa_sigaction == libc::SIG_IGN
    }
}

/// Calls `on` for each signal that asks addfg to end, in a thread of its own.
fn each(mut on: impl FnMut(Origin) + Send + 'static) {
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored(*signal));
    let Ok(mut signals) = SignalsInfo::<WithOrigin>::new(wanted) else { return };
    // Without the thread the signals would do nothing at all; a process has one to spare, or cannot work.
    let _ = std::thread::Builder::new().spawn(move || signals.forever().for_each(&mut on));
}

/// For all commands: what is unfinished is removed; exit code 128 and the signal.
pub fn end_on_signals() {
    each(|by| {
        say!("addfg: interrupted; files are as they were");
        end(128 + by.signal)
    });
}

/// While a program is recorded: an interrupt of the terminal is the program's, too, as the terminal
/// sends it to both. Signals that a process sends to addfg are handed to the program, so that it
/// ends and its recording is finished; the second of those ends addfg.
pub fn hand_on(program: u32) {
    let mut handed = false;
    let program = libc::pid_t::try_from(program).ok();
    each(move |by| {
        let sender = by.process.map(|process| process.pid);
        if by.signal == SIGINT && (sender.is_none() || sender == program) {
            return;
        }
        if handed {
            end(128 + by.signal);
        }
        handed = true;
        if let Some(program) = program {
            // SAFETY: kill takes numbers.
            unsafe { libc::kill(program, by.signal) };
        }
    });
}

/// Calls `on` for each SIGUSR1, in a thread of its own.
pub fn on_user_signal(mut on: impl FnMut() + Send + 'static) {
    let Ok(mut signals) = Signals::new([SIGUSR1]) else { return };
    // Without the thread the signal does nothing.
    let _ = std::thread::Builder::new().spawn(move || signals.forever().for_each(|_| on()));
}

/// Limits that writing meets are errors of writing; reading what is no longer there ends addfg with
/// a message.
pub fn make_faults_errors() {
    crate::record::take_signals();
    // SAFETY: the handlers run in the thread that read a mapped file, in our own code or a copy of bytes, or that gave
    // up: neither holds a lock of the allocator. They never return.
    unsafe {
        // By Rust and by DuckDB, when memory cannot be had.
        let _ = signal_hook::low_level::register(SIGABRT, || {
            say!("addfg: ended for want of memory, or by a defect; files are as they were");
            end(2)
        });
        let _ = signal_hook::low_level::register(SIGBUS, || {
            say!(
                "addfg: a file became shorter, or could not be read, while it was read; files are as they were"
            );
            end(2)
        });
    }
}
