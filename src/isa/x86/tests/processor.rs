//! What the decoder says of registers, against what the processor does: every instruction on
//! registers that this processor runs is measured (`measure.c`), byte by byte.

use super::forms::{Form, Kind, forms};
use crate::event::Isa;
use crate::isa::Decoder;
use crate::isa::x86::X86;
use crate::registers::x86::{FLAGS, MASKS, RAX, RIP, VECTORS, bytes_of};
use iced_x86::{EncodingKind, InstructionInfoFactory, Mnemonic, OpKind, RflagsBits};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

type Bytes = BTreeSet<u16>;

/// What the processor did.
#[derive(Default)]
struct Measured {
    reads: Bytes,
    writes: Bytes,
    flags: bool,
    others: bool,
}

impl Measured {
    /// None if the processor does not run it.
    fn parse(line: &str) -> Option<Measured> {
        let mut measured = Measured::default();
        let mut writing = false;
        for word in line.split(' ') {
            match word {
                "fault" => return None,
                "reads" | "" => {}
                "writes" => writing = true,
                "flags" => measured.flags = true,
                "others" => measured.others = true,
                range => {
                    let (from, size) = range.split_once('+').unwrap();
                    let (from, size): (u16, u16) = (from.parse().unwrap(), size.parse().unwrap());
                    let to = if writing { &mut measured.writes } else { &mut measured.reads };
                    to.extend(from..from + size);
                }
            }
        }
        Some(measured)
    }
}

/// `zmm1:4@8` and the like.
fn show(bytes: &Bytes) -> String {
    let mut out = String::new();
    let mut rest = bytes.iter().copied().peekable();
    let file = crate::registers::registers(Isa::X86_64);
    while let Some(first) = rest.next() {
        let Some(full) = file.at(first).map(|r| r.span) else { continue };
        let mut last = first;
        while let Some(next) = rest.next_if(|b| *b == last + 1 && full.bytes().contains(b)) {
            last = next;
        }
        let name = &file.at(first).unwrap().name;
        out += &format!(" {name}:{}@{}", last + 1 - first, first - full.offset);
    }
    out
}

/// The line that asks for one form.
fn question(form: &Form, factory: &mut InstructionInfoFactory) -> String {
    let hex: String = form.bytes.iter().map(|b| format!("{b:02x}")).collect();
    let defined = form.insn.rflags_modified() & !form.insn.rflags_undefined();
    let bits = [
        (RflagsBits::CF, 1),
        (RflagsBits::PF, 4),
        (RflagsBits::AF, 0x10),
        (RflagsBits::ZF, 0x40),
        (RflagsBits::SF, 0x80),
        (RflagsBits::OF, 0x800),
    ];
    let defined: u32 = bits.iter().filter(|(bit, _)| defined & bit != 0).map(|(_, at)| at).sum();
    let mut line = format!("{hex} {defined:x}");
    let mut seen = BTreeSet::new();
    for used in factory.info(&form.insn).used_registers() {
        let register = used.register();
        let full = if register.is_gpr() { register.full_register() } else { register };
        if let Some(span) = bytes_of(full).filter(|s| seen.insert((s.offset, s.size))) {
            line += &format!(" {}+{}", span.offset, span.size);
        }
    }
    line
}

/// Compiles the program that measures, and gives its answers; several at a time.
fn ask(questions: &[String]) -> Option<Vec<String>> {
    let dir = std::env::temp_dir().join(format!("addfg-measure-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/isa/x86/tests/measure.c");
    let program = dir.join("measure");
    let compiled = Command::new("gcc").arg("-O2").arg(source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|s| s.success()) {
        return None;
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = questions.chunks(questions.len().div_ceil(count)).enumerate().map(|(n, part)| {
        let input = dir.join(format!("questions-{n}"));
        std::fs::write(&input, part.join("\n") + "\n").unwrap();
        let file = std::fs::File::open(&input).unwrap();
        Command::new(&program).stdin(file).stdout(Stdio::piped()).spawn().unwrap()
    });
    let mut answers = Vec::new();
    for part in parts.collect::<Vec<_>>() {
        let out = part.wait_with_output().unwrap();
        assert!(out.status.success(), "{:?}", out.status);
        answers.extend(String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned));
    }
    let _ = std::fs::remove_dir_all(&dir);
    Some(answers)
}

/// Shuffles write all of their destination; an element that stays where it was counts as read and
/// written.
const REWRITES: [&str; 11] = [
    "Unpck",
    "Punpck",
    "Shuf",
    "Pshuf",
    "Palignr",
    "Valign",
    "Perm",
    "Mov",
    "Psrldq",
    "Pslldq",
    "Broadcast",
];

/// Where more is said than counts at these immediates or these registers, and why: mnemonics
/// without V, which forms, and how many adjacent bytes are said if one of them counts (0: any).
const ALLOWED: &[(&str, Only, u16, &str)] = &[
    (
        "And Or Xor Test Cmp Bt Btc Btr Bts Shld Shrd",
        Only::Immediate,
        0,
        "an immediate that masks bits is no selection of bytes",
    ),
    (
        "Psllw Pslld Psllq Psrlw Psrld Psrlq Psraw Psrad Psraq Pshldw Pshldd Pshldq Pshrdw Pshrdd Pshrdq Prold Prolq Prord Prorq",
        Only::Immediate,
        0,
        "a count of bits is no selection of bytes",
    ),
    (
        "Kshiftlb Kshiftlw Kshiftld Kshiftlq Kshiftrb Kshiftrw Kshiftrd Kshiftrq Extrq Insertq",
        Only::Immediate,
        0,
        "the same",
    ),
    (
        "Cvt Fpclass Getmant Reduce Range Rndscale Round Fixupimm Cmpp Cmps Scalef Getexp",
        Only::Prefix,
        8,
        "rounding and classes depend on few values of the low bits",
    ),
    (
        "Pcmpestr Pcmpistr",
        Only::Prefix,
        16,
        "what a comparison of strings looks at depends on both",
    ),
    (
        "Psraw Psrad Psraq Psrlw Psrld Psrlq Psllw Pslld Psllq Ptestm Ptestnm Pshufbitqmb Psllv Psrlv Psrav Pmultishiftqb Dbpsadbw",
        Only::Prefix,
        16,
        "few values show it",
    ),
    ("Pcmp Cmp Pternlog", Only::Masked, 0, "a result that is the same for all values, but masked"),
    ("Fpclass", Only::Immediate, 0, "of no class"),
    ("Kortest Ptest Pdpbus Pcompress Compress Bt", Only::Prefix, 64, "few values show it"),
    ("Psrlv Crc32 Blendv Pblendv Pternlog", Only::Same, 0, "of itself"),
    ("Palignr", Only::Masked, 0, "what is shifted in is 0, masked or not"),
    ("Bswap", Only::All, 0, "of 16 bits: not defined"),
    ("Fldl", Only::Prefix, 0, "the x87 is not measured"),
];

#[derive(Clone, Copy, PartialEq)]
enum Only {
    All,
    Prefix,
    Immediate,
    Masked,
    Same,
}

/// Whether a form may say more than was measured; if so, in how many adjacent bytes.
fn allowed(form: &Form) -> Option<u16> {
    let name = format!("{:?}", form.insn.mnemonic());
    let name = match name.strip_prefix('V') {
        Some(rest) if form.insn.encoding() != EncodingKind::Legacy => {
            rest[..1].to_uppercase() + &rest[1..]
        }
        _ => name,
    };
    let immediate = form.insn.op_kinds().any(|k| !matches!(k, OpKind::Register | OpKind::Memory));
    let fits = |names: &str, only: Only| {
        names.split(' ').any(|n| {
            if matches!(only, Only::Prefix | Only::Masked | Only::Same) {
                name.starts_with(n)
            } else {
                n == name || only == Only::Immediate && n == "Fpclass" && name.starts_with(n)
            }
        }) && match only {
            Only::Immediate => immediate,
            Only::Masked => matches!(form.kind, Kind::Merging | Kind::Zeroing),
            Only::Same => matches!(form.kind, Kind::Same | Kind::FirstIsDestination),
            Only::All | Only::Prefix => true,
        }
    };
    // The mask hides elements; the form without one is held to the byte.
    let masked = matches!(form.kind, Kind::Merging | Kind::Zeroing).then_some(16);
    ALLOWED
        .iter()
        .filter(|(names, only, ..)| fits(names, *only))
        .map(|row| if row.2 == 0 { 64 * 64 } else { row.2 })
        .chain(masked)
        .max()
}

/// What is wrong with what is decoded of a form; None if nothing.
fn difference(form: &Form, measured: &Measured, x86: &mut X86) -> Option<String> {
    let decoded = x86.decode(0x1000, &form.bytes, false)?;
    let data = |offset: u16| (RAX..RIP).contains(&offset) || offset >= MASKS;
    let all = |list: &[crate::isa::RegAccess]| -> Bytes {
        list.iter().flat_map(|a| a.span.bytes()).filter(|b| data(*b)).collect()
    };
    let (reads, writes) = (all(&decoded.reads), all(&decoded.writes));
    let same = form.kind == Kind::Same;
    let name = format!("{:?}", form.insn.mnemonic());
    let rewrites = REWRITES.iter().any(|r| {
        name.trim_start_matches('V').eq_ignore_ascii_case(r)
            || name
                .to_lowercase()
                .trim_start_matches('v')
                .starts_with(&r.to_lowercase().trim_start_matches('v'))
    });
    let in_place = |b: &u16| {
        writes.contains(b)
            && reads.contains(b)
            && !measured.writes.contains(b)
            && (same || rewrites)
    };
    let width = allowed(form);
    let may = |b: &u16, all: &Bytes| {
        width.is_some_and(|w| w > 64 || all.range(b / w * w..b / w * w + w).next().is_some())
    };
    // Twice the same register: only results that are the same for all values are of interest.
    let varies = same && (!measured.reads.is_empty() || measured.writes.is_empty());
    let more: Bytes = reads
        .difference(&measured.reads)
        .filter(|b| !in_place(b) && !may(b, &measured.reads) && !varies)
        .copied()
        .collect();
    // Where an exchange of 32 bits fails, processors differ in what they do with the upper half.
    let exchange = form.insn.mnemonic() == Mnemonic::Cmpxchg;
    let less: Bytes = measured.reads.difference(&reads).filter(|_| !exchange).copied().collect();
    let too: Bytes = writes
        .difference(&measured.writes)
        .filter(|b| !in_place(b) && !may(b, &measured.writes) && !same)
        .copied()
        .collect();
    let not: Bytes = measured.writes.difference(&writes).copied().collect();
    let flags = decoded.reads.iter().any(|a| a.span.offset == FLAGS);
    let mut wrong = String::new();
    for (what, bytes) in [
        ("reads too much", more),
        ("reads too little", less),
        ("writes too much", too),
        ("writes too little", not),
    ] {
        if !bytes.is_empty() {
            wrong += &format!(" {what}:{}", show(&bytes));
        }
    }
    if flags != measured.flags && !same {
        wrong += if flags { " reads flags" } else { " reads no flags" };
    }
    if measured.others {
        wrong += " reads registers that iced does not name";
    }
    (!wrong.is_empty()).then(|| {
        format!(
            "{}:{wrong} | measured{} ->{}",
            decoded.text,
            show(&measured.reads),
            show(&measured.writes)
        )
    })
}

#[test]
fn registers_agree_with_the_processor() {
    let forms = forms();
    let mut factory = InstructionInfoFactory::new();
    let questions: Vec<String> = forms.iter().map(|f| question(f, &mut factory)).collect();
    let Some(answers) = ask(&questions) else {
        super::valgrind::skipped("the processor: needs gcc");
        return;
    };
    let mut x86 = X86::new(Isa::X86_64);
    let (mut ran, mut wrong) =
        (BTreeMap::<Kind, u32>::new(), BTreeMap::<String, Vec<String>>::new());
    println!("width 64");
    for (form, answer) in forms.iter().zip(answers) {
        let Some(measured) = Measured::parse(&answer) else { continue };
        *ran.entry(form.kind).or_default() += 1;
        if let Some(difference) = difference(form, &measured, &mut x86) {
            wrong
                .entry(format!("{:?}", form.insn.mnemonic()))
                .or_default()
                .push(format!("{:?} {:02x?} {difference}", form.kind, form.bytes));
        }
    }
    let total: usize = wrong.values().map(Vec::len).sum();
    let mut out = std::io::stdout().lock();
    for (name, list) in &wrong {
        let _ = writeln!(
            out,
            "{name}: {}\n   {}",
            list.len(),
            list[..list.len().min(if std::env::var("ALL").is_ok() { 1000 } else { 2 })]
                .join("\n   ")
        );
    }
    println!("{} forms, {ran:?} ran, {total} differ, {} mnemonics", forms.len(), wrong.len());
    let _ = VECTORS;
    assert!(wrong.is_empty());
}
