//! Core files: the frames of every thread with the path arrays in their local variables, as a dump
//! would have them.

use crate::image::AddressSpace;
use crate::image::unwind::{Core, Local, StackFrame, Stopped};
use crate::trace::csi::frames::Frame;

/// Slots of a path array at most.
const SLOTS: u64 = 1 << 16;

/// A thread of a core file.
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// Where the stack could not be followed further: the file that was mapped there, or the
    /// address.
    pub lost: Option<String>,
}

/// The part of a path array that a variable is.
fn is(variable: &Local, names: [&str; 2]) -> bool {
    variable.name.strip_prefix("__PT_").is_some_and(|rest| names.contains(&rest))
}

/// The frames of all threads. Function names are those of the symbol table.
pub fn stacks(core: &Core, space: &AddressSpace) -> Vec<Stack> {
    let stopped = Stopped::new(core, space.images().iter().map(|l| (&*l.image, l.bias)));
    let locals: Vec<Vec<Local>> = space.images().iter().map(|l| l.image.locals("__PT_")).collect();
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let stack = |registers| {
        let (found, whole) = stopped.frames(registers);
        let lost = found.last().filter(|_| !whole).map(|f| match f.image {
            Some(_) => format!("{:#x}", f.address),
            None => core.mapped(f.address).map_or_else(|| format!("{:#x}", f.address), base),
        });
        let frames = found
            .iter()
            .enumerate()
            .map(|(depth, f)| frame(&stopped, space, &locals, f, depth, &base))
            .collect();
        Stack { frames, lost }
    };
    core.threads.iter().map(stack).collect()
}

fn frame(
    stopped: &Stopped,
    space: &AddressSpace,
    locals: &[Vec<Local>],
    f: &StackFrame,
    depth: usize,
    base: &dyn Fn(&str) -> String,
) -> Frame {
    let offset = depth as u64;
    let Some(image) = f.image else {
        let function = stopped
            .core
            .mapped(f.address)
            .map_or("<unknown>".to_owned(), |path| format!("<unknown {}>", base(path)));
        return Frame { function, offset, ..Frame::default() };
    };
    let loaded = &space.images()[image];
    let at = space.function_at(f.address.wrapping_add(loaded.bias));
    let function = at.and_then(|at| space.function(at).names.first().cloned());
    let (file, line) = loaded.image.line(f.address).unzip();
    let value = |names: [&str; 2]| {
        let variable = locals[image].iter().find(|v| v.is_at(f.address) && is(v, names))?;
        Some((stopped.locate(f, variable)?, variable.elements))
    };
    let word = |names| stopped.word(value(names)?.0).map(|w| w as i64);
    let slots = value(["counter_arr", "pathArr"]).and_then(|(address, elements)| {
        let slot = |i: u64| stopped.word(address.wrapping_add(8 * i)).map(|w| w as i64);
        (0..elements?.min(SLOTS)).map(slot).collect::<Option<Vec<i64>>>()
    });
    Frame {
        function: function
            .unwrap_or_else(|| format!("<unknown {}>", base(&loaded.image.path.to_string_lossy()))),
        line,
        file,
        next_slot: word(["counter_idx", "arrIndex"]),
        slots,
        current: word(["current_path", "curPath"]),
        calls: None,
        blocks: None,
        offset,
    }
}
