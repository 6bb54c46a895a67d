use super::banks::Target;
use super::digits;
use super::line::{Bytes, Memory, Parsed, Prefix, Said, State, Step};
use crate::event::Isa;
use crate::registers::registers;
use crate::trace::qemu::tests::{Collect, only};

fn said(line: &str) -> Said<'_> {
    Parsed::parse(line.as_bytes(), false).unwrap_or_else(|| panic!("{line}")).said
}

fn step(line: &str) -> Step<'_> {
    match said(line) {
        Said::Step(step) => step,
        other => panic!("{line}: {other:?}"),
    }
}

fn memory(line: &str) -> Memory {
    match said(line) {
        Said::Memory(memory) => memory,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn steps_of_every_dialect() {
    for (line, pc, opcode, state, failed, text) in [
        (
            "1 clk IT (1) 00008008 a00a T svc_s : ADR r0",
            0x8008,
            "a00a",
            State::T32,
            false,
            "ADR r0",
        ),
        ("12 clk IS (12) 0000802c 1afb A svc_s : SUBNE", 0x802c, "1afb", State::A32, true, "SUBNE"),
        (
            "7 cs IT (00000000004d6eb8) 54fffea1 O  ---_- :  b.ne",
            0x4d6eb8,
            "54fffea1",
            State::A64,
            false,
            "b.ne",
        ),
        (
            "3 cyc IT (00022a7c:00000006) 00022a7c     48f6 T16 LDR r0 ; [0x2]",
            0x22a7c,
            "48f6",
            State::T32,
            false,
            "LDR r0 ; [0x2]",
        ),
        (
            "3 clk IT (3) 0000800a:00000000800a,00000000800c e8900c00 T s : LDM",
            0x800a,
            "e8900c00",
            State::T32,
            false,
            "LDM",
        ),
        (
            "9 ns IT (00000000:00000000) 00000000 ea000006 A :  B pc",
            0,
            "ea000006",
            State::A32,
            false,
            "B pc",
        ),
        ("4 ns  ES  (00000000:e59ff018) A svc:   LDR", 0, "e59ff018", State::A32, false, "LDR"),
        (
            "8 ns ES (000001a4:03a06a01) A svc:     CCFAIL MOVEQ",
            0x1a4,
            "03a06a01",
            State::A32,
            true,
            "MOVEQ",
        ),
        ("11519 tic ES (10000b58:--------) T thrd_s:", 0x10000b58, "", State::T32, true, ""),
        (
            "354ns IT 00008000 4802        LDR r0,[pc,#8]",
            0x8000,
            "4802",
            State::T32,
            false,
            "LDR r0,[pc,#8]",
        ),
        (
            "354ns IT 00008004 f000f802 BL {pc}+8",
            0x8004,
            "f000f802",
            State::T32,
            false,
            "BL {pc}+8",
        ),
        ("3 clk IT 00008004 e59ff018 A svc: LDR", 0x8004, "e59ff018", State::A32, false, "LDR"),
    ] {
        let s = step(line);
        let got = (s.pc, s.opcode, s.state, s.failed, s.text);
        assert_eq!(got, (pc, opcode.as_bytes(), state, failed, text.as_bytes()), "{line}");
    }
    assert_eq!(step("3 cyc IT (00022a7c:00000006) 00022a7c 48f6 T16 X").tag, Some(6));
}

#[test]
fn accesses_of_every_dialect() {
    for (line, is_write, size, address, value) in [
        ("2 clk MR4 00008034 000029b4", false, 4, 0x8034, Some(0x29b4)),
        ("2 clk MR1 0000ab94 2202", false, 1, 0xab94, Some(2)),
        ("1 clk MR8 0000c7c8:00000000c7c8 00000000_0000ca68", false, 8, 0xc7c8, Some(0xca68)),
        (
            "1 ps MR8 0000010006fffcc0:010116fffcc0_NS 00000100_05101000",
            false,
            8,
            0x100_06ff_fcc0,
            Some(0x100_0510_1000),
        ),
        ("7 clk MW16 4001c440 4050d645c8ac92fc c04ce8c2677550b4", true, 16, 0x4001c440, None),
        ("6 cs W04 X ffffffbdc3c15c30 010c010b", true, 4, 0xffff_ffbd_c3c1_5c30, Some(0x10c010b)),
        (
            "6 cs R08 0000007f99d14af4 4305000042ea0000",
            false,
            8,
            0x7f_99d1_4af4,
            Some(0x4305_0000_42ea_0000),
        ),
        ("1 ns MSW4___D 201fffec xxxxxxxx", true, 4, 0x201f_ffec, None),
        ("3042 cyc MNW4___D 20000000 3412efbe", true, 4, 0x2000_0000, Some(0xbeef_1234)),
        ("3042 cyc MNR2___D 20000002 3412", false, 2, 0x2000_0002, Some(0x1234)),
        ("3042 cyc MNW1___D 20000001 12", true, 1, 0x2000_0001, Some(0x12)),
        ("3042 cyc MNR4___A e000e010 05000000", false, 4, 0xe000_e010, None),
        ("1 ns MNW4____ (00000050:000000a8) 05011000 00000003", true, 4, 0x5011000, Some(3)),
    ] {
        let m = memory(line);
        assert_eq!(
            (m.is_write, m.size, m.address, m.value),
            (is_write, size, address, value),
            "{line}"
        );
    }
    assert!(memory("1 clk MR4 dfdfdfcf (ABORTED)").aborted);
    assert_eq!(memory("1 ns MNW4____ (00000050:000000a8) 0501 03").of, Some((0x50, 0xa8)));
    for quiet in ["3 cyc MNR4O__I 00022ae4 f7ffffcb", "1 ns MCW4___R (01:bb) TRANSFER 00000000"] {
        assert!(matches!(said(quiet), Said::Quiet), "{quiet}");
    }
    let masked =
        "1 cs LD 000000007ff80fe0 ........ 44444444 ........ 2222..##    S:007ff80fe0    nGnRnE";
    let Said::Bytes(Bytes { is_write: Some(false), base: 0x7ff80fe0, bytes }) = said(masked) else {
        panic!("{:?}", said(masked));
    };
    let touched: Vec<usize> = (0..16).filter(|i| bytes[*i].is_some()).collect();
    assert_eq!(
        (touched, bytes[0], bytes[2]),
        (vec![0, 2, 3, 8, 9, 10, 11], Some(None), Some(Some(0x22)))
    );
    let more = "00004010  3e000a73 ........ ........ ........   S:0000000000004010  NM NSH";
    assert!(matches!(said(more), Said::Bytes(Bytes { is_write: None, base: 0x4010, .. })));
}

#[test]
fn values_of_every_shape() {
    let value = |isa, name: &str, text: &str| {
        let file = registers(isa);
        let target = Target::of(name.as_bytes(), isa, file)?;
        let (mut digits, mut out) = (Vec::new(), Vec::new());
        digits::read(text.as_bytes(), &mut digits)?;
        digits::list(&digits, target.span, &mut out);
        let start = file.at(target.span.offset)?.span.offset;
        let pieces: Vec<_> = out.iter().map(|(s, v)| (s.offset - start, s.size, *v)).collect();
        Some((file.at(target.span.offset)?.name.clone(), pieces))
    };
    let is = |isa, name: &str, text: &str, register: &str, pieces: &[(u16, u16, u64)]| {
        assert_eq!(
            value(isa, name, text),
            Some((register.into(), pieces.to_vec())),
            "{name} {text}"
        );
    };
    let (arm, a64) = (Isa::Arm, Isa::Aarch64);
    is(arm, "r14_svc", "00008004", "lr", &[(0, 4, 0x8004)]);
    is(arm, "r13_main_s", "30040000", "sp", &[(0, 4, 0x3004_0000)]);
    is(arm, "MSP_S", "30040000", "sp", &[(0, 4, 0x3004_0000)]);
    is(arm, "psr", "xx0xxXxx", "cpsr", &[]);
    is(arm, "cpsr", "20000000 __C_", "cpsr", &[(0, 4, 0x2000_0000)]);
    is(arm, "cpsr", "1220023cd", "cpsr", &[(0, 4, 0x2200_23cd)]);
    is(a64, "SP_EL3", "fedcba98 76543210", "sp", &[(0, 8, 0xfedc_ba98_7654_3210)]);
    is(a64, "X1", "--------", "x1", &[]);
    is(a64, "Q0", "-------- -------- 3ff6a09e 667f3bcd", "v0", &[(0, 8, 0x3ff6_a09e_667f_3bcd)]);
    is(a64, "Q0", "3ff428a2 f98d728b -------- --------", "v0", &[(8, 8, 0x3ff4_28a2_f98d_728b)]);
    is(a64, "V5<127:64>", "00000000", "v5", &[(8, 8, 0)]);
    let all = [(0, 8, 0xd1be_3f81_0152_cb56), (8, 8, 0x93c4_67e3_7db0_c7a4)];
    for text in [
        "93c467e37db0c7a4d1be3f810152cb56",
        "93c467e37db0c7a4_d1be3f810152cb56",
        "93c467e3 7db0c7a4 d1be3f81 0152cb56",
        "00000003_00000002_93c467e3_7db0c7a4_d1be3f81_0152cb56",
    ] {
        is(a64, "q0", text, "v0", &all);
        is(a64, "Z0", text, "v0", &all);
        is(arm, "V0", text, "q0", &all);
    }
    for (isa, system) in [(a64, "SPSR_EL3"), (arm, "SCTLR"), (arm, "DFSR_S"), (a64, "P1")] {
        assert_eq!(value(isa, system, "00000000"), None, "{system}");
    }
}

const LOG: &str = "\
0 clk IT (0) 00008000 e3a00005 A svc_s : MOV r0,#5
0 clk R r0 00000005
1 clk IT (1) 00008004 e5810000 A svc_s : STR r0,[r1]
1 clk MW4 00009000 00000005
1 clk IT (2) 00008008 e12fff1e A svc_s : BX lr
";

#[test]
fn lines_belong_to_the_step_before_of_their_cpu() {
    assert_eq!(only(LOG.as_bytes()), "tarmac");
    let c = Collect::read(&super::Tarmac, LOG.as_bytes(), None).unwrap();
    assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::Arm), 3, vec![]));
    assert_eq!(c.steps[1].accesses.len(), 1);
    // Two CPUs, whose lines are mixed.
    let log = "0 clk cpu0 IT (0) 00008000 e3a00005 A svc_s : MOV\n\
               0 clk cpu1 IT (0) 00008004 e5810000 A svc_s : STR\n\
               0 clk cpu0 R r0 00000005\n\
               0 clk cpu1 MW4 00009000 00000005\n\
               1 clk cpu0 IT (1) 00008008 e12fff1e A svc_s : BX lr\n";
    let c = Collect::read(&super::Tarmac, log.as_bytes(), None).unwrap();
    let accesses: Vec<usize> = c.steps.iter().map(|s| s.accesses.len()).collect();
    assert_eq!((accesses, c.codes()), (vec![0, 1, 0], vec![]));
}

#[test]
fn what_names_a_step_belongs_to_it() {
    let log = "1 ns IT (00000050:000000a8) 00000050 e5810000 A : STR\n\
               2 ns IT (00000054:000000a9) 00000054 e3a00005 A : MOV\n\
               3 ns MNW4____ (00000050:000000a8) 05011000 00000003\n\
               4 ns MNW4____ (00000050:000000f8) 05011000 00000003\n";
    let c = Collect::read(&super::Tarmac, log.as_bytes(), None).unwrap();
    let accesses: Vec<usize> = c.steps.iter().map(|s| s.accesses.len()).collect();
    assert_eq!((accesses, c.codes()), (vec![1, 0], vec!["late-access"]));
}

/// A register of a mode is that mode's copy; what the processor writes when it takes an exception is
/// the handler's.
#[test]
fn modes_have_copies_of_registers() {
    let log = "0 clk IT (0) 00008000 e3a0d005 A svc_s : MOV sp,#5\n\
               0 clk R r13_svc 00000005\n\
               1 clk E 00008004 00000006 CoreEvent_IRQ\n\
               1 clk R r14_irq 00008008\n\
               2 clk IT (1) 00000018 e1a00000 A irq_s : NOP\n\
               3 clk IT (2) 00008004 e1a00000 A svc_s : NOP\n";
    let c = Collect::read(&super::Tarmac, log.as_bytes(), None).unwrap();
    let values: Vec<Vec<u64>> =
        c.steps.iter().map(|s| s.registers.iter().map(|r| r.1).collect()).collect();
    assert_eq!(values, [vec![], vec![5, 0x8008], vec![5]]);
    let crate::event::Event::ExceptionEntry(entry) = &c.events[0].1 else { panic!() };
    assert_eq!((c.events.len(), c.events[0].0, entry.number), (1, 1, Some(6)));
}

/// What a line is does not depend on the lines before it.
#[test]
fn the_prefix_of_the_line_before_changes_nothing() {
    let lines = [
        "1 clk cpu0 IT (1) 00008008 a00a T svc_s : ADR r0",
        "1 clk cpu0 R r0 00000001",
        "2 clk cpu1 R r0 00000001",
        "3 clk R r0 00000001",
        "3 clk cpu2 R r0 00000001",
        "3 clk  R r0 00000001",
        "3  clk cpu2 R r0 00000001",
        "3 clk cpu2  R r0 00000001",
        "3 clk cpu R r0 00000001",
        "3 clk cpu12345678901 R r0 00000001",
        "3 clk cpu99999999999999999999 R r0 00000001",
        "3 clk cpu2 R",
        "3 clk cpu2",
        "3 clk",
        "3",
        "3 clk cpu2x R r0 00000001",
        "4 R r0 00000001",
        "4 cpu3 R r0 00000001",
        "5ns R r0 00000001",
        "5.5 ns R r0 00000001",
        "5.5 ns cpu1 R r0 00000001",
        "5 ns cpu1 R r0 00000001",
        "99999999999999999999 ns cpu1 R r0 00000001",
        "R r0 00000001",
        "cpu1 R r0 00000001",
        "00000050 11111111 ........ 22222222 33333333",
        "6 clk cpu1 ES (00008000:e5810000) A usr: STR",
        "6 clk cpu1 MW4 00009000 00000005",
        "6 clk cpu1 nothing known",
        "6 ns MR8 0000000000009000 00000000_00000005",
        "6 ns MR16 0000000000009000 0000000000000000 0000000000000005",
        "6 ns MR4 00009000 (ABORTED)",
        "6 ns MR4 00009000 ####0005",
        "6 ns MR4 00009000:000000009000_NS 05",
        "6 ns MR4 00009000x 05",
    ];
    for scaled in [false, true] {
        for first in lines {
            let mut prefix = Prefix::default();
            for line in [first].into_iter().chain(lines) {
                let alone = format!("{:?}", Parsed::parse(line.as_bytes(), scaled));
                let behind = Parsed::next(line.as_bytes(), scaled, &mut prefix);
                assert_eq!(format!("{behind:?}"), alone, "{line} behind {first}");
            }
        }
    }
}
