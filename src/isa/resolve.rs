//! Which bytes an instruction of a log has, and what is decoded from them.

use super::decoded::{Decoded, Decoder, RegAccess};
use super::kernel_helper;
use super::{registers, system_call};
use crate::event::{InsnDef, Isa, RegSpan, RegUse};

/// Code bytes at a run-time address, to the end of their segment or as many as a decoder needs.
pub type CodeBytes = dyn Fn(u64) -> Option<Vec<u8>>;

/// What the decoder makes of an instruction of a log, and the definition with the bytes that were
/// decoded.
///
/// The bytes of a log may be cut (QEMU's plugin gives 4) or have stale ones behind the instruction;
/// where the ELF's code agrees with them, the ELF's is decoded. Registers that the log flags
/// replace the decoder's.
pub fn resolve(
    def: &InsnDef,
    isa: Isa,
    decoder: &mut dyn Decoder,
    code: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> (InsnDef, Option<Decoded>) {
    let mut def = def.clone();
    let mut decoded = kernel_helper::decode(isa, def.address);
    if decoded.is_some() {
        def.bytes.clear();
    } else {
        decoded = from_image(&mut def, decoder, code).or_else(|| from_log(&mut def, decoder));
    }
    if let Some(decoded) = &mut decoded {
        def.size = decoded.size;
        system_call::narrow(decoded, &def, isa, code);
        if let Some(flags) = &def.log_registers {
            decoded.reads = flagged(flags, isa, RegUse::Read);
            decoded.writes = flagged(flags, isa, RegUse::Write);
        }
    }
    (def, decoded)
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
