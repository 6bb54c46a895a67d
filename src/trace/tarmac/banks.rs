//! Registers by the names in a Tarmac trace, and which copy of a register each mode has: `r14_svc`,
//! `SP_EL3`, `R1 (USR)`, `MSP_S`.

use crate::event::{Isa, RegSpan};
use crate::registers::Registers;

/// A mode that has registers of its own; 0: it is not known.
pub type Bank = u8;

const BANKS: [&str; 13] =
    ["usr", "svc", "abt", "und", "irq", "fiq", "mon", "hyp", "el0", "el1", "el2", "el3", "mon_s"];

/// The bank that a mode of a step has: `svc_s`, `EL3h_s`, `el1t_ns`.
pub fn of_mode(mode: &[u8]) -> Bank {
    let mode = String::from_utf8_lossy(mode).to_ascii_lowercase();
    if let [b'e', b'l', level, kind, ..] = mode.as_bytes() {
        let level = if *kind == b't' { '0' } else { char::from(*level) };
        return named(&format!("el{level}"));
    }
    let word = mode.split('_').next().unwrap_or_default();
    named(if word == "sys" { "usr" } else { word })
}

fn named(name: &str) -> Bank {
    let place = BANKS.iter().position(|bank| *bank == name);
    place.map_or(0, |place| place as Bank + 1)
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The bytes that the value is of.
    pub span: RegSpan,
    /// Bytes above them that become 0.
    pub clears: Option<RegSpan>,
    pub bank: Bank,
}

impl Target {
    /// The register of a name as it stands in the log, with a slice behind it.
    pub fn of(name: &[u8], isa: Isa, file: &Registers) -> Option<Target> {
        let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
        let (name, slice) = match name.split_once('<') {
            Some((name, slice)) => (name, Some(slice.strip_suffix('>')?.split_once(':')?)),
            None => (&name[..], None),
        };
        let mut target = whole(name, isa, file)?;
        if let Some((high, low)) = slice {
            let (high, low): (u16, u16) = (high.parse().ok()?, low.parse().ok()?);
            let bits = high.checked_sub(low)?.checked_add(1)?;
            (bits % 8 == 0 && low % 8 == 0 && high < 8 * target.span.size).then_some(())?;
            target.span = RegSpan { offset: target.span.offset + low / 8, size: bits / 8 };
            target.clears = None;
        }
        Some(target)
    }
}

impl Target {
    /// Modes have copies of the stack pointer and the link register, that of fast interrupts of more:
    /// other registers are the same in all modes.
    pub fn keep_bank(&mut self, file: &Registers) {
        let own = Some(self.span) == file.sp || Some(self.span) == file.link;
        if !own && self.bank != named("fiq") {
            self.bank = 0;
        }
    }
}

fn whole(name: &str, isa: Isa, file: &Registers) -> Option<Target> {
    let plain = |span, bank| Some(Target { span, clears: None, bank });
    let (base, bank) = name.split_once('_').unwrap_or((name, ""));
    if base.len() < name.len() {
        // Only these have copies; others of such names are registers of the system.
        let copied = match isa {
            Isa::Aarch64 => base == "sp",
            _ => ["r8", "r9", "r10", "r11", "r12", "r13", "r14", "sp", "lr", "msp", "psp"]
                .contains(&base),
        };
        copied.then_some(())?;
        if matches!(base, "msp" | "psp") || bank.starts_with("main") || bank.starts_with("process")
        {
            return plain(file.sp?, 0);
        }
        return plain(file.lookup(base)?, named(bank));
    }
    if matches!(name, "msp" | "psp") && isa == Isa::Arm {
        return plain(file.sp?, 0);
    }
    let number = name.get(1..).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let vector = match (isa, name.as_bytes().first(), number) {
        (Isa::Aarch64, Some(b'z'), Some(n)) => Some(format!("v{n}")),
        (Isa::Arm, Some(b'v'), Some(n)) => Some(format!("q{n}")),
        _ => None,
    };
    // SPSR is not the status register itself.
    if name == "spsr" {
        return None;
    }
    let span = file.lookup(vector.as_deref().unwrap_or(name))?;
    // In AArch64 a write of a part of a register clears the rest.
    let full = file.at(span.offset).map(|register| register.span);
    let clears = full
        .filter(|full| isa == Isa::Aarch64 && full.size > span.size)
        .map(|full| RegSpan { offset: span.end(), size: full.end() - span.end() });
    Some(Target { span, clears, bank: 0 })
}
