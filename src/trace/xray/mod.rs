//! LLVM XRay: logs of function entries and exits, in flight data recorder mode (versions 1 to 5)
//! and basic mode, either byte order.
//!
//! [`buffers`] and [`naive`] find the buffers of a file ([`Index`]), [`fdr`] and [`naive`] read
//! their records, [`merge()`] puts the threads' events into the order of their times. Sources:
//! LLVM's document of the format and, where files of its runtimes differ from that, the files.

mod buffers;
mod fdr;
mod index;
mod kind;
mod merge;
mod naive;
mod problem;
mod record;

use super::Format;
use crate::event::Carries;

pub use fdr::data;
pub use index::Index;
pub use merge::merge;
pub use problem::Problems;
pub use record::{Block, Event, Header, Kind, Layout};

pub struct Xray;

impl Format for Xray {
    fn name(&self) -> &'static str {
        "xray"
    }
    fn about(&self) -> &'static str {
        "LLVM XRay, flight data recorder (versions 1 to 5) and basic mode: calls with their times, arguments, events; no steps, no data"
    }
    fn record(&self) -> &'static str {
        "clang -fxray-instrument app.c -o app; XRAY_OPTIONS='patch_premain=true xray_mode=xray-basic' ./app (more in docs/xray.md)"
    }
    fn carries(&self) -> Carries {
        Carries { calls: true, time: true, threads: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let Some(header) = Header::parse(head) else { return false };
        let Some(&first) = head.get(Header::SIZE) else { return header.version <= 5 };
        if header.fdr {
            [kind::NEW_BUFFER, kind::EXTENTS].iter().any(|&kind| header.layout.byte(kind) == first)
        } else {
            let record = head.get(Header::SIZE..Header::SIZE + 4);
            header.version <= 3
                && record.is_some_and(|r| {
                    r[usize::from(!header.big)] == 0 && r[usize::from(header.big)] <= 1 && r[3] <= 3
                })
        }
    }
    fn help(&self) -> &'static str {
        "A binary log that the XRay runtime of clang writes (xray-log.*). Give the program with --elf for the names of functions: the log has\n\
         their numbers in the instrumentation map, its section xray_instr_map. Several files of a run (one a thread, or one behind the\n\
         other) are given together. Times are ticks of the processor's counter; seconds follow from the frequency in the header. What the\n\
         log lacks is: everything but calls. See docs/xray.md."
    }
}
