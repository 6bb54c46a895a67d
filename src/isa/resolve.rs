//! Which bytes an instruction of a log has, and what is decoded from them.

use super::decoded::{Decoded, Decoder, RegAccess};
use super::kernel_helper;
use super::{registers, system_call, zcmp};
use crate::event::{InsnDef, Isa, RegSpan, RegUse};

/// Code bytes at a run-time address, to the end of their segment or as many as a decoder needs.
pub type CodeBytes = dyn Fn(u64) -> Option<Vec<u8>>;

/// What the decoder makes of an instruction of a log, and the definition with the bytes that were
/// decoded.
///
/// The bytes of a log may be cut (QEMU's plugin gives 4) or have stale ones behind the instruction;
/// where the ELF's code agrees with them, the ELF's is decoded.
///
/// What an access is (data, control, which bytes of the register, an idiom that reads nothing) is
/// the decoder's to say. Registers that the log flags are those of the instructions that the
/// decoder does not know; of all others the flags are left out of the definition, so that one
/// instruction is one whatever a log flags.
///
/// `kernel`: the code that system calls enter is part of the trace.
pub fn resolve(
    def: &InsnDef,
    isa: Isa,
    decoder: &mut dyn Decoder,
    code: &dyn Fn(u64) -> Option<Vec<u8>>,
    kernel: bool,
) -> (InsnDef, Option<Decoded>) {
    let mut def = def.clone();
    let mut decoded = kernel_helper::decode(isa, def.address);
    if decoded.is_some() {
        def.bytes.clear();
    } else {
        decoded =
            zcmp::is_told(&def, isa).then(|| zcmp::decode(isa, def.address, &def.bytes)).flatten();
        // Who decodes the definition again knows it by its text.
        if let Some(decoded) = &decoded {
            def.text.get_or_insert_with(|| decoded.text.as_str().into());
        }
        decoded = decoded
            .or_else(|| from_image(&mut def, decoder, code))
            .or_else(|| from_log(&mut def, decoder));
    }
    if let Some(decoded) = &mut decoded {
        def.size = decoded.size;
        if kernel {
            system_call::enters(decoded, isa);
        } else {
            system_call::narrow(decoded, &def, isa, code);
        }
        if decoded.unmodelled.is_some() {
            add_flagged(decoded, &def, isa);
        } else {
            def.log_registers = None;
        }
    }
    (def, decoded)
}

/// What is known of an instruction that cannot be decoded: its bytes, and what the log flags.
pub fn undecoded(def: &InsnDef, size: u8, isa: Isa) -> Decoded {
    let mut decoded = Decoded::unknown(size);
    add_flagged(&mut decoded, def, isa);
    decoded
}

/// Adds the registers that only the log knows of; where the decoder knows the register, it says
/// which bytes.
fn add_flagged(decoded: &mut Decoded, def: &InsnDef, isa: Isa) {
    let Some(flags) = &def.log_registers else { return };
    let lists = [(&mut decoded.reads, RegUse::Read), (&mut decoded.writes, RegUse::Write)];
    for (list, kind) in lists {
        let known = |new: &RegAccess| list.iter().any(|old| old.span.overlaps(new.span));
        let mut new = flagged(flags, isa, kind);
        new.retain(|access| !known(access));
        list.append(&mut new);
        list.sort_unstable_by_key(|access| access.span);
    }
}

/// Whether a conditional instruction was executed, by the registers that the log flags; None if it
/// is not conditional, or touches nothing by which that shows.
///
/// An instruction whose condition failed still reads the flags that its condition is about.
pub fn happened(decoded: &Decoded, flags: &[(RegSpan, RegUse)], isa: Isa) -> Option<bool> {
    let condition = decoded.condition.as_ref()?;
    let program_counter = registers(isa).pc;
    let shows = |span: RegSpan| {
        !condition.reads(span) && program_counter.is_none_or(|pc| !pc.overlaps(span))
    };
    let reads = decoded.reads.iter().map(|r| (r.span, RegUse::Read));
    let writes = decoded.writes.iter().map(|w| (w.span, RegUse::Write));
    let mut shown = reads.chain(writes).filter(|(span, _)| shows(*span)).peekable();
    shown.peek()?;
    Some(shown.any(|(span, kind)| {
        let same = |usage: RegUse| usage == kind || usage == RegUse::ReadWrite;
        flags.iter().any(|(flagged, usage)| flagged.overlaps(span) && same(*usage))
    }))
}

/// Decodes the ELF's bytes if those of the log are their beginning.
fn from_image(
    def: &mut InsnDef,
    decoder: &mut dyn Decoder,
    code: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> Option<Decoded> {
    let bytes = code(def.address)?;
    let decoded = decoder.decode(def.address, &bytes, def.thumb)?;
    let size = usize::from(decoded.size).min(bytes.len());
    let same = size.min(def.bytes.len());
    if bytes[..same] != def.bytes[..same] {
        return None;
    }
    def.bytes = bytes[..size].to_vec();
    Some(decoded)
}

fn from_log(def: &mut InsnDef, decoder: &mut dyn Decoder) -> Option<Decoded> {
    if def.bytes.is_empty() {
        return None;
    }
    let decoded = decoder.decode(def.address, &def.bytes, def.thumb)?;
    def.bytes.truncate(decoded.size.into());
    Some(decoded)
}

/// The registers that the log flags as `kind` (or as both), overlapping spans joined.
fn flagged(flags: &[(RegSpan, RegUse)], isa: Isa, kind: RegUse) -> Vec<RegAccess> {
    let file = registers(isa);
    let of_kind = flags.iter().filter(|(_, u)| *u == kind || *u == RegUse::ReadWrite);
    let mut spans: Vec<RegSpan> = of_kind.map(|(span, _)| *span).collect();
    spans.sort_unstable();
    spans.dedup_by(|next, kept| {
        // Spans of a log may be anything.
        let joined = next.offset < kept.offset.saturating_add(kept.size);
        if joined {
            kept.size = kept.size.max(next.offset.saturating_add(next.size) - kept.offset);
        }
        joined
    });
    spans.into_iter().map(|span| file.access(span)).collect()
}
