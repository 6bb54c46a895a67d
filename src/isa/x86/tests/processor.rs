//! What the decoder says of registers, against what the processor does: every instruction on
//! registers that this processor runs is measured (`measure.c`), byte by byte.

use super::forms::{Form, Kind, forms};
use crate::event::Isa;
use crate::isa::Decoder;
use crate::isa::x86::X86;
use crate::registers::x86::{FLAGS, MASKS, RAX, RIP, bytes_of};
use iced_x86::{EncodingKind, InstructionInfoFactory, Mnemonic, OpKind, RflagsBits};
use std::collections::{BTreeMap, BTreeSet};
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

/// Compiles the program that measures. Gives how many bytes of vector registers it can measure here,
/// and its answers; several at a time.
fn ask(questions: &[String]) -> Option<(u16, Vec<String>)> {
    let dir = std::env::temp_dir().join(format!("addfg-measure-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/isa/x86/tests/measure.c");
    let program = dir.join("measure");
    let compiled = Command::new("gcc").arg("-O2").arg(source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|s| s.success()) {
        return None;
    }
    let width = Command::new(&program).arg("width").output().unwrap().stdout;
    let width = String::from_utf8(width).unwrap().trim().parse().unwrap();
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
    Some((width, answers))
}

/// Shuffles and moves write all of their destination: what stays where it was may be said to be
/// read and written.
const REWRITES: [&str; 11] = [
    "Unpck",
    "Punpck",
    "Shuf",
    "Pshuf",
    "Palignr",
    "Align",
    "Perm",
    "Mov",
    "Psrldq",
    "Pslldq",
    "Broadcast",
];

/// Which forms a row of [`ALLOWED`] is about.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    All,
    Immediate,
    Masked,
    /// With a register twice.
    Twice,
}

/// Where more may be said than was measured, and why: beginnings of mnemonics without V, which
/// forms, and in how many aligned bytes one must count for the others (0: none).
const ALLOWED: &[(&str, Of, u16, &str)] = &[
    (
        "And Or Xor Test Cmp Bt Shld Shrd Psll Psrl Psra Pshld Pshrd Prol Pror Kshift Extrq Insertq",
        Of::Immediate,
        0,
        "an immediate that masks or counts bits is not a selection of bytes",
    ),
    ("Fpclass", Of::Immediate, 0, "of no class"),
    (
        "Cvt Fpclass Getmant Reduce Range Rndscale Round Fixupimm Cmpp Cmps Scalef Getexp Rcp14",
        Of::All,
        8,
        "rounding and classes depend on few values of the low bits",
    ),
    ("Pcmpestr Pcmpistr", Of::All, 16, "what a comparison of strings looks at depends on both"),
    (
        "Ptestm Ptestnm Pshufbitqmb Psll Psrl Psra Pmultishiftqb Dbpsadbw Pdpbus Pcompress Compress \
         Kortest Ptest Bt",
        Of::All,
        16,
        "few values show it",
    ),
    ("", Of::Masked, 16, "few values of a mask show an element; without one it must be shown"),
    ("Pcmp Cmp Pternlog Palignr", Of::Masked, 0, "the same for all values, but for the mask"),
    ("Psrlv Crc32 Blendv Pblendv Pternlog", Of::Twice, 0, "of itself"),
    ("Bswap", Of::All, 0, "of 16 bits it is not defined"),
    ("Ptwrite", Of::All, 0, "goes to the processor's own trace"),
    ("Fldl2", Of::All, 0, "registers of the x87 are not measured"),
];

/// The mnemonic without the V of the VEX and EVEX forms.
fn name(form: &Form) -> String {
    let name = format!("{:?}", form.insn.mnemonic());
    match name.strip_prefix('V') {
        Some(rest) if form.insn.encoding() != EncodingKind::Legacy => {
            let (first, others) = rest.split_at(1);
            first.to_uppercase() + others
        }
        _ => name,
    }
}

fn begins(name: &str, beginnings: &str) -> bool {
    beginnings.is_empty() || beginnings.split_whitespace().any(|b| name.starts_with(b))
}

/// Whether a form may say more than was measured; if so, in how many aligned bytes one must count.
fn allowed(form: &Form) -> Option<u16> {
    let name = name(form);
    let immediate = form.insn.op_kinds().any(|k| !matches!(k, OpKind::Register | OpKind::Memory));
    let is = |of: Of| match of {
        Of::All => true,
        Of::Immediate => immediate,
        Of::Masked => matches!(form.kind, Kind::Merging | Kind::Zeroing),
        Of::Twice => matches!(form.kind, Kind::Same | Kind::FirstIsDestination),
    };
    let rows = ALLOWED.iter().filter(|(names, of, ..)| begins(&name, names) && is(*of));
    rows.map(|row| if row.2 == 0 { u16::MAX } else { row.2 }).max()
}

/// What is wrong with what is decoded of a form; None if nothing. Of vector registers only the first
/// `width` bytes were measured.
fn difference(form: &Form, measured: &Measured, width: u16, x86: &mut X86) -> Option<String> {
    let decoded = x86.decode(0x1000, &form.bytes, false)?;
    let vectors = bytes_of(iced_x86::Register::ZMM0).unwrap().offset;
    let data = |offset: &u16| match *offset {
        at if at >= vectors => (at - vectors) % 64 < width,
        at => (RAX..RIP).contains(&at) || at >= MASKS,
    };
    let all = |list: &[crate::isa::RegAccess]| -> Bytes {
        list.iter().flat_map(|a| a.span.bytes()).filter(data).collect()
    };
    let (reads, writes) = (all(&decoded.reads), all(&decoded.writes));
    let twice = form.kind == Kind::Same;
    let rewrites = twice || begins(&name(form), &REWRITES.join(" "));
    let in_place = |b: &u16| {
        rewrites && writes.contains(b) && reads.contains(b) && !measured.writes.contains(b)
    };
    let aligned = allowed(form);
    let may = |b: &u16, counts: &Bytes| {
        aligned.is_some_and(|w| {
            w == u16::MAX || counts.range(b / w * w..b / w * w + w).next().is_some()
        })
    };
    let beyond = |said: &Bytes, counts: &Bytes| -> Bytes {
        let more = said.difference(counts).filter(|b| !in_place(b) && !may(b, counts));
        more.copied().collect()
    };
    // Of twice the same register only results that are the same for all values are of interest.
    let varies = twice && (!measured.reads.is_empty() || measured.writes.is_empty());
    let more = if varies { Bytes::new() } else { beyond(&reads, &measured.reads) };
    let too = if twice { Bytes::new() } else { beyond(&writes, &measured.writes) };
    // Where an exchange of 32 bits fails, processors differ in what they do with the upper half.
    let exchange = form.insn.mnemonic() == Mnemonic::Cmpxchg;
    let less = if exchange { Bytes::new() } else { &measured.reads - &reads };
    let mut wrong = String::new();
    for (what, bytes) in [
        ("reads too much", more),
        ("reads too little", less),
        ("writes too much", too),
        ("writes too little", &measured.writes - &writes),
    ] {
        if !bytes.is_empty() {
            wrong += &format!(" {what}:{}", show(&bytes));
        }
    }
    let flags = decoded.reads.iter().any(|a| a.span.offset == FLAGS);
    if flags != measured.flags && !twice {
        wrong += if flags { " reads flags" } else { " reads no flags" };
    }
    if measured.others {
        wrong += " reads registers that iced does not name";
    }
    let (read, written) = (show(&measured.reads), show(&measured.writes));
    let line = || format!("{}:{wrong} | measured{read} ->{written}", decoded.text);
    (!wrong.is_empty()).then(line)
}

/// Every form that this processor runs; the rows of [`ALLOWED`] are what is left.
#[test]
fn registers_agree_with_the_processor() {
    let forms = forms();
    let mut factory = InstructionInfoFactory::new();
    let questions: Vec<String> = forms.iter().map(|f| question(f, &mut factory)).collect();
    let Some((width, answers)) = ask(&questions) else {
        super::valgrind::skipped("the processor: needs gcc");
        return;
    };
    let mut x86 = X86::new(Isa::X86_64);
    let (mut ran, mut wrong) = (BTreeMap::<Kind, u32>::new(), Vec::new());
    assert_eq!(forms.len(), answers.len());
    for (form, answer) in forms.iter().zip(&answers) {
        let Some(measured) = Measured::parse(answer) else { continue };
        *ran.entry(form.kind).or_default() += 1;
        let difference = difference(form, &measured, width, &mut x86);
        wrong.extend(difference.map(|d| format!("{:?} {:02x?} {d}", form.kind, form.bytes)));
    }
    println!("{} forms, {ran:?} ran, {} differ", forms.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran.values().sum::<u32>() > 1000);
}
