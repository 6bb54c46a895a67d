mod extensions;
mod replay;
mod show;
mod tables;

use super::*;
use crate::event::RegSpan;
use crate::isa::{Expr, FlowKind, Moved};
use show::show;
use tables::{A32, A64, RV32, RV64, T32};

/// Ways back from an exception, and instructions with similar opcodes that are none.
#[test]
fn exception_returns_are_told_from_returns() {
    let kind = |isa, thumb, word: u32| {
        let bytes = match thumb && word > 0xffff {
            true => word.rotate_right(16).to_le_bytes(),
            false => word.to_le_bytes(),
        };
        Pcode::new(isa, false).decode(0x8000, &bytes, thumb).map(|d| d.flow.kind)
    };
    let back = Some(FlowKind::ExceptionReturn);
    for word in [
        0xe1b0_f00e, // movs pc, lr
        0xe25e_f004, // subs pc, lr, #4
        0x025e_f004, // subseq pc, lr, #4
        0xf8bd_0a00, // rfeia sp!
        0xf93d_0a00, // rfedb sp!
        0xe8fd_8003, // ldm sp!, {r0, r1, pc}^
    ] {
        assert_eq!(kind(Isa::Arm, false, word), back, "{word:08x}");
    }
    for (word, expected) in [
        (0xe1a0_f00e, FlowKind::Return), // mov pc, lr
        (0xe12f_ff1e, FlowKind::Return), // bx lr
        (0xe8bd_8003, FlowKind::Return), // pop {r0, r1, pc}
        (0xe8d0_7fff, FlowKind::Next),   // ldm r0, {r0-r14}^
        (0xe15e_0004, FlowKind::Next),   // cmp lr, r4
        (0xe000_0291, FlowKind::Next),   // mul r0, r1, r2
    ] {
        assert_eq!(kind(Isa::Arm, false, word), Some(expected), "{word:08x}");
    }
    for word in [0xf3de_8f00, 0xf3de_8f04, 0xe9bd_c000, 0xe81d_c000] {
        assert_eq!(kind(Isa::Arm, true, word), back, "{word:08x}");
    }
    assert_eq!(kind(Isa::Arm, true, 0x4770), Some(FlowKind::Return));
    assert_eq!(kind(Isa::Aarch64, false, 0xd69f_03e0), back);
    assert_eq!(kind(Isa::Aarch64, false, 0xd65f_03c0), Some(FlowKind::Return));
    for word in [0x3020_0073, 0x1020_0073] {
        assert_eq!(kind(Isa::Riscv64, false, word), back, "{word:08x}");
        assert_eq!(kind(Isa::Riscv32, false, word), back, "{word:08x}");
    }
}

/// What the p-code says of the loaded bytes, and not how an instruction is called.
#[test]
fn what_loads_leave_as_it_was() {
    let moved = |isa, word: u32| {
        let decoded = Pcode::new(isa, false).decode(0x8000, &word.to_le_bytes(), false).unwrap();
        let file = registers(isa);
        Some(match decoded.moved? {
            Moved::ToMemory => "memory".into(),
            Moved::ToRegister(span) => {
                let full = file.at(span.offset).unwrap();
                format!("{}+{} {}", full.name, span.offset - full.span.offset, span.size)
            }
        })
    };
    for (isa, word, expected) in [
        (Isa::Aarch64, 0x3940_0020, Some("x0+0 1")), // ldrb w0, [x1]
        (Isa::Aarch64, 0x7980_0020, Some("x0+0 2")), // ldrsh x0, [x1]
        (Isa::Aarch64, 0xb840_4420, Some("x0+0 4")), // ldr w0, [x1], #4
        (Isa::Aarch64, 0xf940_0000, Some("x0+0 8")), // ldr x0, [x0]
        (Isa::Aarch64, 0x885f_fc20, Some("x0+0 4")), // ldaxr w0, [x1]
        (Isa::Aarch64, 0xbd40_0000, Some("v0+0 4")), // ldr s0, [x0]
        (Isa::Aarch64, 0x4d40_c800, None),           // ld1r {v0.4s}, [x0]
        (Isa::Aarch64, 0xa940_0440, None),           // ldp x0, x1, [x2]
        (Isa::Aarch64, 0xb820_0041, None),           // ldadd w0, w1, [x2]
        (Isa::Aarch64, 0xb820_8041, None),           // swp w0, w1, [x2]
        (Isa::Aarch64, 0xb900_0020, None),           // str w0, [x1]
        (Isa::Arm, 0x15d1_0000, Some("r0+0 1")),     // ldrbne r0, [r1]
        (Isa::Arm, 0xe1d1_00f2, Some("r0+0 2")),     // ldrsh r0, [r1, #2]
        (Isa::Arm, 0xe101_0090, None),               // swp r0, r0, [r1]
        (Isa::Riscv64, 0x0005_c503, Some("x10+0 1")), // lbu a0, 0(a1)
        (Isa::Riscv64, 0x0005_a503, Some("x10+0 4")), // lw a0, 0(a1)
        (Isa::Riscv64, 0x1005_a52f, Some("x10+0 4")), // lr.w a0, (a1)
        (Isa::Riscv64, 0x00c5_a52f, None),           // amoadd.w a0, a2, (a1)
    ] {
        assert_eq!(moved(isa, word).as_deref(), expected, "{isa:?} {word:08x}");
    }
}

/// Loops of Armv8.1-M, whose opcodes are those of a `blx` that there is not.
#[test]
fn low_overhead_loops_are_no_calls() {
    let kind = |word: u32| {
        let bytes = word.rotate_right(16).to_le_bytes();
        Pcode::new(Isa::Arm, false).decode(0x8000, &bytes, true).map(|d| d.flow.kind)
    };
    for word in [
        0xf042_e001, // dls lr, r2
        0xf042_c003, // wls lr, r2, .+8
        0xf022_c005, // wlstp.32 lr, r2, .+12
        0xf00f_c805, // le lr, .-8
        0xf01f_c805, // letp lr, .-8
    ] {
        assert_eq!(kind(word), None, "{word:08x}");
    }
    for word in [0xf7ff_fffe, 0xf000_f802, 0xf7ff_effe, 0xf000_e802] {
        assert_eq!(kind(word), Some(FlowKind::Call), "{word:08x}");
    }
}

/// SVE and RISC-V's V: what is not known is told, and scalars of SVE are known.
#[test]
fn vectors_without_a_model_are_told() {
    let decode =
        |isa, word: u32| Pcode::new(isa, false).decode(0x8000, &word.to_le_bytes(), false).unwrap();
    let names = |d: &[crate::isa::RegAccess]| {
        let name = |a: &crate::isa::RegAccess| {
            registers(Isa::Aarch64).at(a.span.offset).unwrap().name.clone()
        };
        d.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    for (word, memory, reads) in [
        (0xa400_a020, Some(true), Some("x1")), // ld1b {z0.b}, p0/z, [x1]
        (0xe400_e000, Some(true), Some("x0 v0")), // st1b {z0.b}, p0, [x0]
        (0x2522_1fe0, Some(false), Some("x2")), // whilelo p0.b, xzr, x2
        (0x0522_0020, Some(false), None),      // ext z0.b, {z1.b, z2.b}, #0
        (0x0420_e3e6, None, Some("")),         // cntb x6
        (0x0460_5041, None, Some("x0")),       // addpl x1, x0, #2
        (0x4e20_8420, None, None),             // add v0.16b, v1.16b, v0.16b
    ] {
        let d = decode(Isa::Aarch64, word);
        assert_eq!(d.unmodelled.map(|u| u.memory), memory, "{word:08x} {}", d.text);
        if let Some(reads) = reads {
            assert_eq!(names(&d.reads), reads, "{word:08x} {}", d.text);
        }
    }
    let cntb = decode(Isa::Aarch64, 0x0420_e3e6);
    assert_eq!(names(&cntb.writes), "x6");
    // vle8.v v8, (a1); vadd.vv v8, v8, v9; vsetvli a3, a2, e8; flw
    for (word, memory) in [
        (0x0205_8407, Some(true)),
        (0x0284_8457, Some(false)),
        (0x0c06_76d7, None),
        (0x0005_a507, None),
    ] {
        let Some(d) =
            Pcode::new(Isa::Riscv64, false).decode(0x8000, &u32::to_le_bytes(word), false)
        else {
            continue;
        };
        assert_eq!(d.unmodelled.map(|u| u.memory), memory, "{word:08x} {}", d.text);
    }
}

/// Coprocessors 8 to 11 are SIMD and floating point: what the specification takes for something else
/// moves no core register that is known.
#[test]
fn unknown_simd_is_told() {
    let decode = |word: u32, thumb: bool| {
        let bytes = if thumb { word.rotate_right(16) } else { word }.to_le_bytes();
        Pcode::new(Isa::Arm, false).decode(0x8000, &bytes, thumb).unwrap()
    };
    for (word, memory) in [
        (0xee30_6b36, Some(false)), // mrc p11, 1, r6, c0, c6, {1}
        (0xee84_0bb5, Some(false)), // mcr p11, 4, r0, c4, c5, {5}
        (0xeef5_694b, Some(false)), // cdp p9, 15, c6, c5, c11, {2}
        (0xedf8_196d, Some(true)),  // ldcl p9, c1, [r8, #436]!
        (0xee1d_0f70, None),        // mrc p15, 0, r0, c13, c0, {3}
        (0xee10_0a90, None),        // vmov r0, s1
    ] {
        for thumb in [false, true] {
            let d = decode(word, thumb);
            assert_eq!(d.unmodelled.map(|u| u.memory), memory, "{word:08x} {}", d.text);
            if memory.is_some() {
                assert!(d.reads.is_empty() && d.writes.is_empty(), "{word:08x} {}", d.text);
            }
        }
    }
}

/// Half precision and the additional SIMD of big-endian code.
#[test]
fn extensions_mean_the_same_in_big_endian_code() {
    for (thumb, table) in [(false, extensions::A32), (true, extensions::T32)] {
        let (mut little, mut big) = (Pcode::new(Isa::Arm, false), Pcode::new(Isa::Arm, true));
        for (hex, _) in table {
            let memory = u32::from_str_radix(hex, 16).unwrap().to_be_bytes();
            let [a, b, c, d] = memory;
            let swapped = if thumb { [b, a, d, c] } else { [d, c, b, a] };
            let expected = little.decode(0x8000, &memory, thumb).unwrap();
            assert_eq!(big.decode(0x8000, &swapped, thumb).unwrap(), expected, "{hex}");
        }
    }
}

/// Opcodes in memory order at 0x8000 and what [`show`] says of them.
#[test]
fn instructions_touch_what_the_manuals_say() {
    for (isa, thumb, table) in [
        (Isa::Arm, false, A32),
        (Isa::Arm, true, T32),
        (Isa::Aarch64, false, A64),
        (Isa::Riscv64, false, RV64),
        (Isa::Riscv32, false, RV32),
        (Isa::Arm, false, extensions::A32),
        (Isa::Arm, true, extensions::T32),
        (Isa::Aarch64, false, extensions::A64),
        (Isa::Riscv64, false, extensions::RV64),
    ] {
        let mut decoder = Pcode::new(isa, false);
        for (hex, expected) in table {
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
                .collect();
            let decoded = decoder.decode(0x8000, &bytes, thumb).expect(hex);
            assert_eq!(show(isa, &decoded), *expected, "{hex}");
            assert_eq!(decoded.unmodelled, None, "{hex}");
            assert_eq!(decoded.size as usize, bytes.len(), "{hex}");
        }
    }
}

#[test]
fn conditions_follow_the_flags_and_itstate() {
    let cpsr = registers(Isa::Arm).lookup("cpsr").unwrap();
    let eval = |e: &Expr, value: u64| e.eval(&|r| (r == cpsr).then_some(value)).unwrap() != 0;
    for flags in 0..16u64 {
        let (n, z, c, v) = (flags & 8 != 0, flags & 4 != 0, flags & 2 != 0, flags & 1 != 0);
        let held = [
            z,
            !z,
            c,
            !c,
            n,
            !n,
            v,
            !v,
            c && !z,
            !c || z,
            n == v,
            n != v,
            !z && n == v,
            z || n != v,
        ];
        for (condition, held) in held.iter().enumerate() {
            assert_eq!(
                eval(&conditions::holds(cpsr, condition as u32), flags << 28),
                *held,
                "{condition} {flags:x}"
            );
            // IT[7:4] is the condition, IT[3:0] not 0 inside a block; IT[7:2] is in bits 15:10,
            // IT[1:0] in 26:25.
            for rest in [1u64, 2, 4, 8, 15] {
                let it = (condition as u64) << 4 | rest;
                let value = flags << 28 | (it & 3) << 25 | (it >> 2) << 10 | 0x30;
                assert_eq!(eval(&conditions::it_holds(cpsr), value), *held, "IT {it:x} {flags:x}");
            }
        }
        assert!(eval(&conditions::it_holds(cpsr), flags << 28 | 0x30));
    }
}

#[test]
fn decoding_does_not_depend_on_what_was_decoded_before() {
    let mut decoder = Pcode::new(Isa::Arm, false);
    let add = [0x08, 0x44];
    let alone = decoder.decode(0x1002, &add, true).unwrap();
    // `it eq` before it, `blx` to it, other bytes at the same address.
    decoder.decode(0x1000, &[0x08, 0xbf], true).unwrap();
    assert_eq!(decoder.decode(0x1002, &add, true).unwrap(), alone);
    let blx = decoder.decode(0x0ff8, &[0x00, 0xf0, 0x02, 0xe8], true).unwrap();
    assert_eq!((blx.flow.kind, blx.flow.target), (FlowKind::Call, Some(0x1000)));
    assert_eq!(decoder.decode(0x1002, &[0x01, 0x20], true).unwrap().text, "movs r0,#0x1");
    assert_eq!(decoder.decode(0x1002, &add, true).unwrap(), alone);
    // A32 in between.
    assert_eq!(
        decoder.decode(0x1000, &[0x01, 0x00, 0x80, 0xe0], false).unwrap().text,
        "add r0,r0,r1"
    );
    assert_eq!(decoder.decode(0x1002, &add, true).unwrap(), alone);
}

#[test]
fn big_endian_opcodes_mean_the_same() {
    for (isa, opcode) in [
        (Isa::Arm, 0xe5910004u32),
        (Isa::Arm, 0xe8bd8010),
        (Isa::Arm, 0xe0912003),
        (Isa::Arm, 0xed910b00),
        (Isa::Arm, 0xe6ef0071),
        (Isa::Arm, 0xe5c10000),
        (Isa::Arm, 0xee100a90),
    ] {
        let little = Pcode::new(isa, false).decode(0x8000, &opcode.to_le_bytes(), false).unwrap();
        let big = Pcode::new(isa, true).decode(0x8000, &opcode.to_be_bytes(), false).unwrap();
        assert_eq!(show(isa, &big), show(isa, &little));
    }
}

#[test]
fn names_of_logs_are_known() {
    let span = |isa, name: &str| registers(isa).lookup(name).unwrap();
    assert_eq!(span(Isa::Arm, "R13"), span(Isa::Arm, "sp"));
    assert_eq!(span(Isa::Arm, "s3"), RegSpan { offset: span(Isa::Arm, "q0").offset + 12, size: 4 });
    assert_eq!(span(Isa::Arm, "d31").offset, span(Isa::Arm, "q15").offset + 8);
    assert_eq!(
        span(Isa::Aarch64, "w8"),
        RegSpan { offset: span(Isa::Aarch64, "x8").offset, size: 4 }
    );
    assert_eq!(span(Isa::Aarch64, "q5"), span(Isa::Aarch64, "v5"));
    assert_eq!(span(Isa::Riscv64, "x10"), span(Isa::Riscv64, "a0"));
    assert_eq!(span(Isa::Riscv32, "fp"), span(Isa::Riscv32, "s0"));
    for isa in [Isa::Arm, Isa::Aarch64, Isa::Riscv32, Isa::Riscv64] {
        let file = registers(isa);
        assert!(file.all.windows(2).all(|w| w[0].span.offset + w[0].span.size == w[1].span.offset));
        assert!(file.sp.is_some() && file.pc.is_some() && file.link.is_some());
    }
}

/// No bytes make the decoder panic; what is decoded is consistent.
#[test]
fn any_bytes_decode_or_not() {
    let trace = std::env::var("ADDFG_TRACE").is_ok();
    let mut seed = std::env::var("ADDFG_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0u64)
        ^ 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for (isa, big, thumb) in [
        (Isa::Arm, false, false),
        (Isa::Arm, false, true),
        (Isa::Arm, true, false),
        (Isa::Aarch64, false, false),
        (Isa::Aarch64, true, false),
        (Isa::Riscv32, false, false),
        (Isa::Riscv64, false, false),
    ] {
        let file = registers(isa);
        let mut decoder = Pcode::new(isa, big);
        let mut decoded = 0;
        for i in 0..std::env::var("ADDFG_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(300u64)
        {
            let word = (random() as u32).to_le_bytes();
            let address = if i % 7 == 0 { random() } else { 0x1_0000 + 4 * i };
            if trace {
                eprintln!("{isa:?} {big} {thumb} {address:x} {word:02x?} {i}");
            }
            let Some(d) = decoder.decode(address, &word[..if i % 11 == 0 { 2 } else { 4 }], thumb)
            else {
                continue;
            };
            decoded += 1;
            assert!(matches!(d.size, 2 | 4), "{word:x?}");
            for all in [&d.reads, &d.writes] {
                assert!(
                    all.windows(2).all(|w| w[0].span.offset + w[0].span.size <= w[1].span.offset),
                    "{word:x?} {d:?}"
                );
                assert!(
                    all.iter().all(|a| file.at(a.span.offset).is_some_and(|r| {
                        a.span.size > 0
                            && a.span.offset + a.span.size <= r.span.offset + r.span.size
                    })),
                    "{word:x?} {d:?}"
                );
            }
            for m in &d.memory {
                let registers = m.address.registers();
                assert!(
                    registers.iter().all(|r| (r.offset + r.size) as usize <= file.size),
                    "{word:x?} {d:?}"
                );
                if let Some(r) = m.data_register {
                    let all = if m.is_write { &d.reads } else { &d.writes };
                    assert!(
                        all.iter().any(|a| a.span == r) && u32::from(r.size) == m.size,
                        "{word:x?} {d:?}"
                    );
                }
            }
        }
        assert!(decoded > 0);
    }
}
