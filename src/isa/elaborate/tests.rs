use super::*;
use crate::event::{Event, InsnDef, MemShape};
use crate::isa::decoded::RegAccess;
use crate::isa::resolve::resolve;

const BEFORE: Carries = Carries {
    steps: true,
    opcodes: true,
    calls: false,
    accesses: false,
    registers: true,
    registers_before: true,
    written_values: false,
    values: false,
    time: false,
    threads: false,
    kernel: false,
    thumb: true,
    kernel_stores: false,
    all_stores: false,
    mappings: false,
    dependences: false,
    paths: false,
    decided: false,
};

/// A step: thread, instruction, changed registers, accesses.
type Row<'a> = (u32, u32, &'a [(&'a str, u64)], &'a [(bool, u64, u32)]);

fn insns(code: &[(u64, &[u8])]) -> Vec<InsnDef> {
    code.iter()
        .map(|(address, bytes)| InsnDef {
            address: *address,
            bytes: bytes.to_vec(),
            ..InsnDef::default()
        })
        .collect()
}

fn batch(rows: &[Row]) -> StepBatch {
    let file = registers(Isa::X86_64);
    let mut b = StepBatch::default();
    for (thread, insn, changes, logged) in rows {
        b.insn.push(*insn);
        b.thread.push(*thread);
        b.condition.push(Condition::Unknown);
        b.registers
            .extend(changes.iter().map(|(name, value)| (file.lookup(name).unwrap(), *value)));
        b.register_end.push(b.registers.len() as u32);
        b.accesses.extend(logged.iter().map(|&(is_write, address, size)| LoggedAccess {
            address,
            size,
            is_write,
            value: None,
        }));
        b.access_end.push(b.accesses.len() as u32);
    }
    b
}

/// Runs the rows through in batches of `chunk`, and joins what comes out.
fn run(carries: Carries, defs: &[InsnDef], rows: &[Row], chunk: usize) -> (RunBatch, Elaborator) {
    let mut e = Elaborator::new(Isa::X86_64, Dialect::default(), carries, Box::new(|_| None));
    let mut all = RunBatch::default();
    let mut join = |out: RunBatch| {
        all.new_insns.extend(out.new_insns);
        all.new_blocks.extend(out.new_blocks);
        all.block.extend(out.block);
        all.thread.extend(out.thread);
        all.addresses.extend(out.addresses);
        all.values.extend(out.values);
        all.register_values.extend(out.register_values);
        all.end.extend(out.end);
    };
    for (i, part) in rows.chunks(chunk).enumerate() {
        let mut b = batch(part);
        if i == 0 {
            b.new_insns = defs.to_vec();
        }
        let mut out = RunBatch::default();
        e.push(&mut b, &mut out);
        assert!(b.is_empty());
        join(out);
    }
    let mut out = RunBatch::default();
    e.finish(&mut out);
    join(out);
    (all, e)
}

/// One line a run: its steps' ids with a `-` where not executed, and accesses as
/// `S8@address=value`.
fn show(out: &RunBatch) -> Vec<String> {
    let mut at = 0;
    let mut lines = Vec::new();
    for (i, &block) in out.block.iter().enumerate() {
        let def = &out.new_blocks[block as usize];
        let mut mem = def.mem.iter();
        let mut words = Vec::new();
        for step in &def.steps {
            let mut word = format!("{}{}", step.insn, if step.executed { "" } else { "-" });
            for shape in mem.by_ref().take(step.mem as usize) {
                word += &format!(
                    ",{}{}@{:x}",
                    if shape.is_write { "S" } else { "L" },
                    shape.size,
                    out.addresses[at]
                );
                if let Some(value) = out.values.get(at).copied().flatten() {
                    word += &format!("={value:x}");
                }
                at += 1;
            }
            words.push(word);
        }
        if let Some(sp) = out.end.get(i).and_then(|e| e.sp) {
            words.push(format!("sp={sp:x}"));
        }
        let thread = out.thread.get(i).map_or(String::new(), |t| format!("t{t} "));
        lines.push(format!("b{block} {thread}{}", words.join(" ")));
    }
    lines
}

fn program() -> Vec<InsnDef> {
    insns(&[
        (0x100, &[0x55]),                         // push %rbp
        (0x101, &[0x48, 0x89, 0xe5]),             // mov %rsp,%rbp
        (0x104, &[0xf3, 0xa4]),                   // rep movsb
        (0x106, &[0x0f, 0x44, 0x03]),             // cmove (%rbx),%eax
        (0x109, &[0x5d]),                         // pop %rbp
        (0x10a, &[0xc3]),                         // ret
        (0x200, &[0xe8, 0xfb, 0xfe, 0xff, 0xff]), // call 0x100
    ])
}

const ROWS: &[Row] = &[
    (
        0,
        6,
        &[
            ("rsp", 0x8000),
            ("rbp", 0x77),
            ("rsi", 0x10),
            ("rdi", 0x20),
            ("rcx", 2),
            ("rbx", 0x40),
            ("rax", 5),
        ],
        &[],
    ),
    (0, 0, &[("rsp", 0x7ff8)], &[]),
    (0, 1, &[("rsp", 0x7ff0)], &[]),
    (0, 2, &[("rbp", 0x7ff0)], &[]),
    (0, 2, &[("rsi", 0x11), ("rdi", 0x21), ("rcx", 1)], &[]),
    (0, 2, &[("rsi", 0x12), ("rdi", 0x22), ("rcx", 0)], &[]),
    (0, 3, &[], &[]),
    (0, 4, &[], &[]),
    (0, 5, &[("rsp", 0x7ff8), ("rbp", 0x77)], &[]),
    (0, 6, &[("rsp", 0x8000)], &[]),
    (0, 0, &[("rsp", 0x7ff8)], &[]),
];

#[test]
fn accesses_are_computed_from_the_registers_before() {
    let (out, e) = run(BEFORE, &program(), ROWS, usize::MAX);
    assert_eq!(
        show(&out),
        [
            "b0 0,S8@7ff8 sp=7ff8",
            "b1 1,S8@7ff0=77 2 3,L1@10,S1@20 sp=7ff0",
            "b2 3,L1@11,S1@21 sp=7ff0",
            // The last look of the repeated instruction at its count moves nothing.
            "b3 3- 4,L4@40 5,L8@7ff0=77 6,L8@7ff8 sp=8000",
            "b0 0,S8@8000 sp=7ff8".replace("@8000", "@7ff8").as_str(),
            "b4 1,S8@7ff0=77",
        ]
    );
    assert_eq!(e.diagnostics().count(), 0);
    assert_eq!(out.new_insns.len(), 7);
    // call: rsp, rip; push: rsp; mov: rbp; rep movsb: rcx, rsi, rdi.
    let end = [Some(0x7ff8), None, Some(0x7ff0), Some(0x7ff0), Some(1), Some(0x11), Some(0x21)];
    assert_eq!(out.register_values[..7], end);
}

#[test]
fn batches_do_not_matter() {
    let mut rows = Vec::new();
    for i in 0..200u32 {
        for row in ROWS {
            rows.push((i / 3 % 4, row.1, row.2, row.3));
        }
    }
    let carries = Carries { threads: true, ..BEFORE };
    let (whole, _) = run(carries, &program(), &rows, usize::MAX);
    for chunk in [1, 2, 7, 100] {
        let (parts, _) = run(carries, &program(), &rows, chunk);
        assert_eq!(show(&whole), show(&parts));
        assert_eq!(whole.register_values, parts.register_values);
        assert_eq!((&whole.end, &whole.thread), (&parts.end, &parts.thread));
        assert_eq!((&whole.new_insns, &whole.new_blocks), (&parts.new_insns, &parts.new_blocks));
    }
    let steps: usize = whole.block.iter().map(|&b| whole.new_blocks[b as usize].steps.len()).sum();
    assert_eq!(steps, rows.len());
}

#[test]
fn threads_keep_the_order_of_the_log_and_wait_for_each_other_only_so_long() {
    let code = insns(&[(0x100, &[0x58]), (0x101, &[0x90])]); // pop %rax; nop
    let carries = Carries { threads: true, ..BEFORE };
    let rows: &[Row] = &[
        (1, 0, &[("rsp", 0x10), ("rax", 1)], &[]),
        (2, 0, &[("rsp", 0x20), ("rax", 2)], &[]),
        (1, 1, &[("rsp", 0x18), ("rax", 7)], &[]),
        (2, 1, &[("rsp", 0x28), ("rax", 8)], &[]),
    ];
    let (out, _) = run(carries, &code, rows, 1);
    assert_eq!(
        show(&out),
        ["b0 t1 0,L8@10=7 sp=18", "b0 t2 0,L8@20=8 sp=28", "b1 t1 1", "b1 t2 1"]
    );
    let mut many = vec![rows[0]];
    many.extend(std::iter::repeat_n(rows[1], 70_000));
    let mut e = Elaborator::new(Isa::X86_64, Dialect::default(), carries, Box::new(|_| None));
    let mut b = batch(&many);
    b.new_insns = code;
    let mut out = RunBatch::default();
    e.push(&mut b, &mut out);
    assert!(out.block.len() > 69_000 && e.runs.len() < 4, "{} runs still wait", e.runs.len());
    assert_eq!((out.thread[0], out.values[0], out.end[0].sp), (1, None, None));
}

#[test]
fn registers_after_the_instruction() {
    let carries = Carries { registers_before: false, ..BEFORE };
    let code = insns(&[(0x100, &[0x55]), (0x101, &[0x5d])]);
    let rows: &[Row] = &[
        (0, 0, &[("rsp", 0x8000), ("rbp", 3)], &[]), // its registers before are not known
        (0, 1, &[("rsp", 0x8008), ("rbp", 4)], &[]),
        (0, 0, &[("rsp", 0x8000)], &[]),
    ];
    let (out, e) = run(carries, &code, rows, 2);
    assert_eq!(show(&out), ["b0 0 1,L8@8000=4 sp=8008", "b1 0,S8@8000=4 sp=8000"]);
    assert_eq!(
        e.diagnostics().map(|c| (c.first.code, c.count)).collect::<Vec<_>>(),
        [("address-unknown", 1)]
    );
}

#[test]
fn logged_accesses_get_sizes_and_operands() {
    let carries = Carries { accesses: true, registers: false, registers_before: false, ..BEFORE };
    let code = insns(&[
        (0x100, &[0x0f, 0x10, 0x00]),       // movups (%rax),%xmm0
        (0x103, &[0xff, 0x30]),             // push (%rax)
        (0x105, &[0xf0, 0x0f, 0xb1, 0x0a]), // lock cmpxchg %ecx,(%rdx)
        (0x109, &[0x90]),                   // nop
        (0x10a, &[0xc5, 0xfc, 0x11, 0x00]), // vmovups %ymm0,(%rax)
    ]);
    let rows: &[Row] = &[
        (0, 0, &[], &[(false, 0x50, 0), (false, 0x58, 0)]),
        (0, 1, &[], &[(false, 0x50, 0), (true, 0x90, 0)]),
        (0, 2, &[], &[(false, 0x60, 4), (false, 0x60, 4), (true, 0x60, 4)]),
        (0, 3, &[], &[(true, 0x70, 0)]),
        (0, 4, &[], &[(true, 0x80, 8), (true, 0x88, 8), (true, 0x90, 8), (true, 0x98, 8)]),
        (0, 0, &[], &[(false, u64::MAX, 16)]),
    ];
    let (out, e) = run(carries, &code, rows, 3);
    assert_eq!(
        show(&out),
        [
            "b0 0,L16@50 1,L8@50,S8@90 2,L4@60,L4@60,S4@60 3,S8@70 4,S32@80",
            "b1 0,L16@ffffffffffffffff"
        ]
    );
    let operands: Vec<u8> = out.new_blocks[0].mem.iter().map(|m| m.operand).collect();
    assert_eq!(operands, [0, 0, 1, 0, MemShape::NO_OPERAND, 1, MemShape::NO_OPERAND, 0]);
    assert_eq!(e.diagnostics().map(|c| c.first.code).collect::<Vec<_>>(), ["access-size-unknown"]);
    assert!(out.values.is_empty() && out.end.is_empty() && out.register_values.is_empty());
}

#[test]
fn opcodes_that_the_log_cuts_come_from_the_elf_if_they_agree() {
    let mov: &[u8] = &[0x48, 0xc7, 0x45, 0xf8, 1, 0, 0, 0, 0xcc, 0xcc]; // movq $1,-8(%rbp)
    let code = move |address: u64| (address == 0x100).then(|| mov.to_vec());
    let mut decoder = decoder(Isa::X86_64, Dialect::default());
    let mut size = |bytes: &[u8]| {
        let def = InsnDef { address: 0x100, bytes: bytes.to_vec(), ..InsnDef::default() };
        resolve(&def, Isa::X86_64, decoder.as_mut(), &code, false).0.bytes
    };
    assert_eq!(size(&mov[..4]), mov[..8]);
    assert_eq!(size(&[]), mov[..8]);
    // Code that is not the ELF's: what was logged, without stale bytes behind it.
    assert_eq!(size(&[0x90, 0x11, 0x22, 0x33]), [0x90]);
}

#[test]
fn hostile_rows_are_counted() {
    let mut e = Elaborator::new(Isa::X86_64, Dialect::default(), BEFORE, Box::new(|_| None));
    let mut b = batch(ROWS);
    b.register_end[3] = 9999;
    b.access_end[4] = 77;
    b.registers[0].0 = RegSpan { offset: u16::MAX, size: 300 };
    b.new_insns = insns(&[(0x100, &[0x06]), (u64::MAX, &[])]);
    let mut out = RunBatch::default();
    e.push(&mut b, &mut out);
    e.finish(&mut out);
    let counts: Vec<_> = e.diagnostics().map(|c| (c.first.code, c.count)).collect();
    assert_eq!(counts, [("instruction-undecoded", 2), ("instruction-unknown", 8)]);
    assert_eq!(out.block.len(), 3);
}

#[test]
#[ignore = "measures, for `cargo test -- --ignored --nocapture`"]
fn throughput() {
    let mut e = Elaborator::new(Isa::X86_64, Dialect::default(), BEFORE, Box::new(|_| None));
    let rows: Vec<Row> = ROWS.iter().copied().cycle().take(110_000).collect();
    let template = batch(&rows);
    let mut out = RunBatch::default();
    let mut steps = 0;
    let start = std::time::Instant::now();
    let mut inside = std::time::Duration::ZERO;
    while start.elapsed().as_secs() < 3 {
        let mut b = template.clone();
        if steps == 0 {
            b.new_insns = program();
        }
        out.block.clear();
        out.addresses.clear();
        out.values.clear();
        out.register_values.clear();
        out.end.clear();
        let before = std::time::Instant::now();
        steps += b.len();
        e.push(&mut b, &mut out);
        inside += before.elapsed();
    }
    eprintln!("{:.1} M steps/s", steps as f64 / inside.as_secs_f64() / 1e6);
}

/// Of a system call's registers those are read that its number says.
#[test]
fn system_calls_read_their_arguments() {
    let file = registers(Isa::X86_64);
    let code = |bytes: &'static [u8]| {
        move |address: u64| {
            let at = usize::try_from(address.checked_sub(0x100)?).ok()?;
            Some(bytes.get(at..)?.to_vec())
        }
    };
    let reads = |bytes: &'static [u8]| {
        let address = 0x100 + bytes.len() as u64 - 2;
        let def = InsnDef { address, bytes: vec![0x0f, 0x05], ..InsnDef::default() };
        let decoder = &mut *decoder(Isa::X86_64, Dialect::default());
        let decoded = resolve(&def, Isa::X86_64, decoder, &code(bytes), false).1.unwrap();
        let data = decoded.reads.iter().filter(|r| !r.control);
        data.map(|r| file.at(r.span.offset).unwrap().name.clone()).collect::<Vec<_>>().join(" ")
    };
    // mov $60,%eax; mov $1,%eax; mov %edi,%eax
    assert_eq!(reads(&[0xb8, 60, 0, 0, 0, 0x0f, 0x05]), "rax rdi");
    assert_eq!(reads(&[0xb8, 1, 0, 0, 0, 0x0f, 0x05]), "rax rdx rsi rdi");
    assert_eq!(reads(&[0x90, 0x90, 0x90, 0x89, 0xf8, 0x0f, 0x05]), "rax rdx rsi rdi r8 r9 r10");
}

/// What a system call enters reads and writes the registers itself where it is in the trace; an emulator
/// may carry out a hypervisor call and semihosting.
#[test]
fn in_a_whole_machine_a_system_call_touches_no_argument() {
    let touched = |isa: Isa, thumb: bool, bytes: &[u8], kernel: bool| {
        let def = InsnDef { bytes: bytes.to_vec(), thumb, ..InsnDef::default() };
        let (_, decoded) =
            resolve(&def, isa, &mut *decoder(isa, Dialect::default()), &|_| None, kernel);
        let decoded = decoded.unwrap();
        let of_data = |list: &[RegAccess]| list.iter().filter(|r| !r.control).count();
        (of_data(&decoded.reads), of_data(&decoded.writes))
    };
    let all = [
        (Isa::X86_64, false, vec![0x0f, 0x05], (0, 2)),
        (Isa::X86_64, false, vec![0xcd, 0x80], (0, 0)),
        (Isa::X86, false, vec![0xcd, 0x80], (0, 0)),
        (Isa::Arm, false, vec![0, 0, 0, 0xef], (0, 0)),
        (Isa::Arm, true, vec![3, 0xdf], (0, 0)),
        (Isa::Aarch64, false, vec![1, 0, 0, 0xd4], (0, 0)),
        (Isa::Riscv32, false, vec![0x73, 0, 0, 0], (0, 0)),
        (Isa::Riscv64, false, vec![0x73, 0, 0, 0], (0, 0)),
    ];
    for (isa, thumb, bytes, expected) in all {
        assert_eq!(touched(isa, thumb, &bytes, true), expected, "{isa:?} {bytes:?}");
        let (reads, writes) = touched(isa, thumb, &bytes, false);
        assert!(reads >= 6 && writes > expected.1, "{isa:?} {bytes:?}");
    }
    for (isa, thumb, bytes) in [
        (Isa::Arm, false, vec![0x56, 0x34, 0x12, 0xef]),
        (Isa::Arm, true, vec![0xab, 0xdf]),
        (Isa::Aarch64, false, vec![2, 0, 0, 0xd4]),
    ] {
        assert_eq!(touched(isa, thumb, &bytes, true), touched(isa, thumb, &bytes, false));
    }
}

/// Instructions of which the decoder does not know all are counted and named.
#[test]
fn what_is_not_known_of_an_instruction_is_told() {
    let mut e = Elaborator::new(Isa::Aarch64, Dialect::default(), BEFORE, Box::new(|_| None));
    let code = insns(&[(0x100, &[0x20, 0xa0, 0x00, 0xa4]), (0x104, &[0xe0, 0x1f, 0x22, 0x25])]);
    let mut b = batch(&[(0, 0, &[], &[]), (0, 1, &[], &[]), (0, 0, &[], &[])]);
    b.new_insns = code;
    let mut out = RunBatch::default();
    e.push(&mut b, &mut out);
    e.finish(&mut out);
    let found: Vec<_> = e
        .diagnostics()
        .map(|c| (c.first.severity, c.first.code, c.count, c.first.position.as_str()))
        .collect();
    let lost = crate::diagnostics::Severity::Error;
    assert_eq!(
        found,
        [
            (lost, "memory-unmodelled", 2, "address 0x100"),
            (lost, "registers-unmodelled", 1, "address 0x104"),
        ]
    );
}

/// A step's accesses are counted in 16 bits: what is more is told.
#[test]
fn too_many_accesses_are_told() {
    let carries = Carries { accesses: true, registers: false, registers_before: false, ..BEFORE };
    let many = vec![(false, 0x50, 1); 70_000];
    let (out, e) = run(carries, &insns(&[(0x100, &[0x90])]), &[(0, 0, &[], &many)], 1);
    assert_eq!(out.new_blocks[0].mem.len(), 65_000);
    let codes: Vec<_> = e.diagnostics().map(|c| c.first.code).collect();
    assert_eq!(codes, ["accesses-too-many"]);
}

/// An event ends the run before it and stands between that and the next one, though the run waits
/// for the values after its last step.
#[test]
fn an_event_stands_between_runs() {
    let defs = insns(&[(0x100, &[0x90]), (0x101, &[0x90]), (0x102, &[0x90])]);
    let mut e = Elaborator::new(Isa::X86_64, Dialect::default(), BEFORE, Box::new(|_| None));
    let marker = |text: &str| Event::Marker { thread: 0, text: text.into() };
    let mut b = batch(&[(0, 0, &[], &[]), (0, 1, &[], &[]), (0, 2, &[], &[])]);
    b.new_insns = defs;
    b.events = vec![(0, marker("first")), (2, marker("middle")), (3, marker("last"))];
    let mut out = RunBatch::default();
    e.push(&mut b, &mut out);
    e.finish(&mut out);
    assert_eq!(out.block.len(), 2);
    let places: Vec<_> = out.events.iter().map(|(at, event)| (*at, event.clone())).collect();
    assert_eq!(places, [(0, marker("first")), (1, marker("middle")), (2, marker("last"))]);
}

/// What a handler goes back to may stand just behind it.
#[test]
fn a_return_ends_a_run() {
    for (isa, thumb, code) in [
        (Isa::Riscv64, false, vec![0x73, 0, 0x20, 0x30]),
        (Isa::Aarch64, false, vec![0xe0, 0x03, 0x9f, 0xd6]),
        (Isa::Arm, false, vec![0x0e, 0xf0, 0xb0, 0xe1]),
        (Isa::Arm, true, vec![0x70, 0x47]),
    ] {
        let next = 0x100 + code.len() as u64;
        let def = |address, bytes: &[u8]| {
            let bytes = bytes.to_vec();
            InsnDef { address, bytes, thumb, ..InsnDef::default() }
        };
        let mut e = Elaborator::new(isa, Dialect::default(), BEFORE, Box::new(|_| None));
        let mut b = batch(&[(0, 0, &[], &[]), (0, 1, &[], &[])]);
        b.new_insns = vec![def(0x100, &code), def(next, &code)];
        let mut out = RunBatch::default();
        e.push(&mut b, &mut out);
        e.finish(&mut out);
        assert_eq!(out.block.len(), 2, "{isa:?}");
    }
}

/// A row of two registers: instruction, names and values before it.
type Counted = (u32, [(&'static str, u64); 2]);

/// Rows of a processor that counts rbx up from what r12 has: two instructions and a jump back.
fn counting(from: u64, rows: usize) -> Vec<Counted> {
    let count = |row: usize| from + (row - row / 3) as u64;
    (0..rows).map(|row| ((row % 3) as u32, [("rbx", count(row)), ("r12", from)])).collect()
}

/// Two processors whose rows alternate are found; one that is interrupted is not.
#[test]
fn rows_of_two_processors_are_found() {
    let defs = insns(&[
        (0x100, &[0x48, 0xff, 0xc3]), // inc %rbx
        (0x103, &[0x48, 0xff, 0xc3]), // inc %rbx
        (0x106, &[0xeb, 0xf8]),       // jmp 0x100
        (0x200, &[0x48, 0xff, 0xc0]), // inc %rax: a handler
        (0x203, &[0x48, 0xcf]),       // iretq
    ]);
    let found = |rows: &[Counted]| {
        let rows: Vec<Row> =
            rows.iter().map(|(insn, values)| (0, *insn, &values[..], &[][..])).collect();
        let (_, elaborator) = run(BEFORE, &defs, &rows, usize::MAX);
        // Where the handler's stack is, the rows do not say.
        let told = elaborator.diagnostics().filter(|c| c.first.code != "address-unknown");
        told.map(|c| (c.first.code, c.count)).collect::<Vec<_>>()
    };
    let (one, other) = (counting(5, 60), counting(0x1000, 60));
    let alternate = one.chunks(7).zip(other.chunks(5));
    let mixed = found(&alternate.flat_map(|(a, b)| [a, b].concat()).collect::<Vec<_>>());
    assert!(matches!(mixed[..], [("threads-not-told-apart", 5..)]), "{mixed:?}");
    assert_eq!(found(&one), []);
    let handler = |i: u64| [(3, [("rax", i), ("rcx", 0)]), (4, [("rax", i + 1), ("rcx", 0)])];
    let interrupted = one.chunks(4).zip(0..).flat_map(|(rows, i)| [rows, &handler(i)].concat());
    assert_eq!(found(&interrupted.collect::<Vec<_>>()), []);
}
