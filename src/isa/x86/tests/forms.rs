//! All instructions on registers: every opcode of every map and prefix, as iced decodes it.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpKind, Register,
};
use std::collections::HashSet;

/// How the registers of a form are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Distinct,
    Merging,
    Zeroing,
    /// Every operand that can be is the same register.
    Same,
    /// The destination is the first source.
    FirstIsDestination,
}

pub struct Form {
    pub bytes: Vec<u8>,
    pub insn: Instruction,
    pub kind: Kind,
}

/// Of immediates, where they select bytes.
const IMMEDIATES: [u8; 8] = [0x1b, 0x00, 0xff, 0xe4, 0x4d, 0x31, 0x83, 0xd2];

/// Numbers of the registers in an opcode.
#[derive(Clone, Copy)]
struct Numbers {
    reg: u8,
    rm: u8,
    vvvv: u8,
}

struct Collector {
    seen: HashSet<(Code, Kind, u8)>,
    info: InstructionInfoFactory,
    forms: Vec<Form>,
}

pub fn forms() -> Vec<Form> {
    let mut all =
        Collector { seen: HashSet::new(), info: InstructionInfoFactory::new(), forms: Vec::new() };
    let mut numbers = Vec::new();
    for (r, b) in [(8, 8), (0, 8), (8, 0), (0, 0)] {
        for reg in [1, 0, 3, 4, 5, 6, 7] {
            for vvvv in [11, 3, 0] {
                numbers.push(Numbers { reg: reg | r, rm: 2 | b, vvvv });
            }
        }
    }
    for n in &numbers {
        all.encodings(*n, Kind::Distinct, 0);
        all.encodings(*n, Kind::Merging, 5);
        all.encodings(*n, Kind::Zeroing, 0x85);
    }
    for number in [9, 1] {
        all.encodings(Numbers { reg: number, rm: number, vvvv: number }, Kind::Same, 0);
        let n = Numbers { reg: number, rm: 2, vvvv: number };
        all.encodings(n, Kind::FirstIsDestination, 0);
    }
    all.forms
}

impl Collector {
    /// Every opcode with these registers; `mask` is the low byte of EVEX that has the opmask.
    fn encodings(&mut self, n: Numbers, kind: Kind, mask: u8) {
        if mask == 0 {
            self.legacy(n, kind);
            self.vex(n, kind);
        }
        self.evex(n, kind, mask);
    }

    fn legacy(&mut self, n: Numbers, kind: Kind) {
        // The first source is another operand in the VEX encodings only.
        if kind == Kind::FirstIsDestination || n.vvvv == 3 {
            return;
        }
        let rex = 0x40 | n.reg >> 3 << 2 | n.rm >> 3;
        for prefix in [&[][..], &[0x66], &[0xf3], &[0xf2]] {
            for wide in [0, 8] {
                for map in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]] {
                    for opcode in 0..=255 {
                        let mut bytes = prefix.to_vec();
                        bytes.push(rex | wide);
                        bytes.extend_from_slice(map);
                        bytes.extend([opcode, 0xc0 | (n.reg & 7) << 3 | n.rm & 7]);
                        self.add(&bytes, kind);
                    }
                }
            }
        }
    }

    fn vex(&mut self, n: Numbers, kind: Kind) {
        for map in 1..4 {
            for low in 0..16 {
                let (wide, low) = (low & 8, low & 7);
                for opcode in 0..=255 {
                    let inverted = !(n.reg >> 3 << 7 | n.rm >> 3 << 5) & 0xa0;
                    let vvvv = if n.vvvv == 0 { 0x78 } else { !n.vvvv << 3 & 0x78 };
                    let bytes = [
                        0xc4,
                        inverted | 0x40 | map,
                        wide << 4 | vvvv | low,
                        opcode,
                        0xc0 | (n.reg & 7) << 3 | n.rm & 7,
                    ];
                    self.add(&bytes, kind);
                }
            }
        }
    }

    fn evex(&mut self, n: Numbers, kind: Kind, mask: u8) {
        for map in [1, 2, 3, 5, 6] {
            for bits in 0..24 {
                let (prefix, wide, length) = (bits & 3, bits & 4, bits >> 3);
                for opcode in 0..=255 {
                    let inverted = !(n.reg >> 3 << 7 | n.rm >> 3 << 5) & 0xa0;
                    let vvvv = if n.vvvv == 0 { 0x78 } else { !n.vvvv << 3 & 0x78 };
                    let bytes = [
                        0x62,
                        inverted | 0x50 | map,
                        wide << 5 | vvvv | 4 | prefix,
                        mask | length << 5 | 8,
                        opcode,
                        0xc0 | (n.reg & 7) << 3 | n.rm & 7,
                    ];
                    self.add(&bytes, kind);
                }
            }
        }
    }

    /// Takes what these bytes begin, once for every immediate that may matter.
    fn add(&mut self, start: &[u8], kind: Kind) {
        let mut bytes = start.to_vec();
        bytes.extend([0xc4, 0x5a, 0x36, 0x69, 0x2d, 0x1c, 0x4b, 0x57]);
        let insn = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE).decode();
        if insn.is_invalid()
            || insn.len() < start.len()
            || self.seen.contains(&(insn.code(), kind, 0))
            || !self.measurable(&insn)
            || kind == Kind::Distinct && !distinct(&insn)
            || kind == Kind::Same && !same(&insn)
        {
            return;
        }
        self.seen.insert((insn.code(), kind, 0));
        let selects = insn.op_kinds().any(|k| k == OpKind::Immediate8)
            && insn.op_kinds().zip(0..).any(|(k, n)| {
                k == OpKind::Register && {
                    let register = insn.op_register(n);
                    register.is_vector_register() || register.is_k()
                }
            });
        bytes.truncate(insn.len());
        let variants = match (selects, kind) {
            (true, Kind::Merging | Kind::Zeroing | Kind::Same) => &IMMEDIATES[..2],
            (true, Kind::FirstIsDestination) => &IMMEDIATES[..1],
            (true, _) => &IMMEDIATES,
            _ => &[0xc4],
        };
        for immediate in variants {
            if selects && let Some(last) = bytes.last_mut() {
                *last = *immediate;
            }
            let insn = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE).decode();
            self.forms.push(Form { bytes: bytes.clone(), insn, kind });
        }
    }

    /// Data only, in registers that are kept, the same at each execution.
    fn measurable(&mut self, insn: &Instruction) -> bool {
        let info = self.info.info(insn);
        let name = format!("{:?}", insn.mnemonic());
        insn.flow_control() == FlowControl::Next
            && !insn.is_privileged()
            && !insn.is_stack_instruction()
            && !insn.is_save_restore_instruction()
            && !insn.is_string_instruction()
            && info.used_memory().is_empty()
            && info.used_registers().iter().all(|u| {
                let r = u.register();
                r.is_gpr() && r.full_register() != Register::RSP
                    || r.is_vector_register() && !r.is_tmm()
                    || r.is_k()
            })
            && !UNSTEADY.contains(&insn.mnemonic())
            && !SYSTEM.iter().any(|start| name.starts_with(start))
    }
}

/// What they give depends on more than registers.
const UNSTEADY: [Mnemonic; 17] = [
    Mnemonic::Rdtsc,
    Mnemonic::Rdtscp,
    Mnemonic::Rdrand,
    Mnemonic::Rdseed,
    Mnemonic::Rdpid,
    Mnemonic::Rdpmc,
    Mnemonic::Rdpru,
    Mnemonic::Cpuid,
    Mnemonic::Xgetbv,
    Mnemonic::Rdpkru,
    Mnemonic::Wrpkru,
    Mnemonic::Std,
    Mnemonic::Pause,
    Mnemonic::Tpause,
    Mnemonic::Umwait,
    Mnemonic::Umonitor,
    Mnemonic::Smsw,
];
/// Of the system, or of its segments.
const SYSTEM: [&str; 13] = [
    "Rdfs", "Wrfs", "Rdgs", "Wrgs", "Monitor", "Mwait", "Rdssp", "Incssp", "Sldt", "Str", "Lar",
    "Lsl", "Ver",
];

/// Whether no register is there twice.
fn distinct(insn: &Instruction) -> bool {
    let registers: Vec<_> = registers(insn);
    registers.iter().collect::<HashSet<_>>().len() == registers.len()
}

/// Whether some register is there twice.
fn same(insn: &Instruction) -> bool {
    !distinct(insn)
}

fn registers(insn: &Instruction) -> Vec<Register> {
    (0..insn.op_count())
        .filter(|n| insn.op_kind(*n) == OpKind::Register)
        .map(|n| insn.op_register(n).full_register())
        .collect()
}
