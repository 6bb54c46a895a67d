//! P, the unit of build speed: one thread turns a lackey log, which is in memory already, into
//! numbers and forgets them. Prints the processor's seconds, the best of three times. `rustc -O
//! parse_only.rs && ./parse_only LOG`
use std::{env, ffi::c_long, fs, hint::black_box};

unsafe extern "C" {
    /// Microseconds that this process has had of the processor (C and POSIX), whoever else had the
    /// rest.
    safe fn clock() -> c_long;
}

fn parse(log: &[u8], records: &mut Vec<(u8, u64, u32)>) {
    let mut at = 0;
    while at + 3 < log.len() {
        let kind = if log[at] == b'I' { b'I' } else { log[at + 1] };
        if log[at] == b'=' || !b"ILSM".contains(&kind) {
            at += log[at..].iter().position(|&b| b == b'\n').map_or(log.len(), |end| end + 1);
            continue;
        }
        at += 3;
        let mut address = 0;
        while let Some(digit) = log.get(at).and_then(|b| (*b as char).to_digit(16)) {
            (address, at) = (address << 4 | u64::from(digit), at + 1);
        }
        at += 1;
        let mut size = 0;
        while let Some(digit) = log.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
            (size, at) = (size * 10 + u32::from(digit), at + 1);
        }
        at += 1;
        if records.len() == records.capacity() {
            black_box(&records);
            records.clear();
        }
        records.push((kind, address, size));
    }
}

fn main() {
    let log =
        fs::read(env::args_os().nth(1).expect("parse_only LOG")).expect("a log that can be read");
    let mut records = Vec::with_capacity(1 << 16);
    let time = |_| {
        let start = clock();
        parse(black_box(&log), &mut records);
        (clock() - start) as f64 / 1e6
    };
    println!("{:.3}", (0..3).map(time).fold(f64::INFINITY, f64::min));
}
