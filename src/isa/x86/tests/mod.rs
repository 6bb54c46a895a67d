#[cfg(target_arch = "x86_64")]
mod forms;
#[cfg(target_arch = "x86_64")]
mod processor;
mod valgrind;

use super::*;
use crate::isa::Moved;
use crate::registers::x86::{END, VECTORS, span};

/// Registers by name with the bytes' width where it is not the register's (`xmm0:4`), control
/// ones in brackets.
fn names(isa: Isa, list: &[RegAccess]) -> String {
    let file = registers(isa);
    let one = |a: &RegAccess| {
        let full = file.at(a.span.offset).unwrap();
        let at = a.span.offset - full.span.offset;
        let mut name = full.name.clone();
        if a.span != full.span {
            name += &format!(":{}", a.span.size);
        }
        if at > 0 {
            name += &format!("@{at}");
        }
        if a.control { format!("[{name}]") } else { name }
    };
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn show(isa: Isa, bytes: &[u8]) -> String {
    let d = X86::new(isa).decode(0x1000, bytes, false).unwrap();
    assert_eq!(d.size as usize, bytes.len());
    let memory = d.memory.iter().map(|m| {
        let mut s = format!("{}{}", if m.is_write { "S" } else { "L" }, m.size);
        s += if m.stack_relative { " stack" } else { "" };
        s += if m.control { " control" } else { "" };
        s += if m.guard.is_some() { " guarded" } else { "" };
        if let Some(r) = m.data_register {
            s += &format!(" of {}", names(isa, &[RegAccess { span: r, control: false }]));
        }
        s
    });
    let memory = memory.collect::<Vec<_>>().join(", ");
    let condition = if d.condition.is_some() { " if" } else { "" };
    format!(
        "{} | {} -> {} | {memory}{condition}",
        d.text,
        names(isa, &d.reads),
        names(isa, &d.writes)
    )
}

/// Code and what it reads and writes.
const INSTRUCTIONS: &[(&[u8], &str)] = &[
    (&[0x31, 0xc0], "xor %eax,%eax |  -> rax [rflags] | "),
    (&[0x29, 0xc9], "sub %ecx,%ecx |  -> rcx [rflags] | "),
    (&[0x19, 0xc0], "sbb %eax,%eax | [rflags] -> rax [rflags] | "),
    (&[0x01, 0xd8], "add %ebx,%eax | rax:4 rbx:4 -> rax [rflags] | "),
    (&[0x88, 0xe0], "mov %ah,%al | rax:1@1 -> rax:1 | "),
    (&[0x40, 0x88, 0xe6], "mov %spl,%sil | [rsp:1] -> rsi:1 | "),
    (&[0x44, 0x88, 0xc0], "mov %r8b,%al | r8:1 -> rax:1 | "),
    (&[0x66, 0xb8, 1, 0], "mov $1,%ax |  -> rax:2 | "),
    (&[0x55], "push %rbp | [rsp] rbp -> [rsp] | S8 stack of rbp"),
    (&[0x54], "push %rsp | [rsp] -> [rsp] | S8 stack"),
    (&[0x5d], "pop %rbp | [rsp] -> [rsp] rbp | L8 stack of rbp"),
    (&[0xc9], "leave | rbp -> [rsp] rbp | L8 stack of rbp"),
    (&[0xc3], "ret | [rsp] -> [rsp] [rip] | L8 stack control"),
    (&[0xe8, 0, 0, 0, 0], "call 0x1005 | [rsp] -> [rsp] [rip] | S8 stack"),
    (&[0xff, 0x30], "pushq (%rax) | rax [rsp] -> [rsp] | L8, S8 stack"),
    (&[0x8b, 0x44, 0x24, 8], "mov 8(%rsp),%eax | [rsp] -> rax | L4 stack"),
    (&[0x48, 0x8b, 0x44, 0x24, 8], "mov 8(%rsp),%rax | [rsp] -> rax | L8 stack of rax"),
    (&[0x48, 0x8b, 0x00], "mov (%rax),%rax | rax -> rax | L8"),
    (&[0x89, 0x45, 0xfc], "mov %eax,-4(%rbp) | rax:4 rbp -> | S4 of rax:4"),
    (&[0x0f, 0x10, 0x00], "movups (%rax),%xmm0 | rax -> zmm0:16 | L16 of zmm0:16"),
    (&[0xc5, 0xf8, 0x10, 0x00], "vmovups (%rax),%xmm0 | rax -> zmm0 | L16"),
    (&[0xc5, 0xfc, 0x11, 0x00], "vmovups %ymm0,(%rax) | rax zmm0:32 -> | S32 of zmm0:32"),
    (&[0xf3, 0x0f, 0x11, 0x00], "movss %xmm0,(%rax) | rax zmm0:4 -> | S4 of zmm0:4"),
    (&[0xf3, 0x0f, 0x10, 0x00], "movss (%rax),%xmm0 | rax -> zmm0:16 | L4"),
    (&[0xf3, 0x0f, 0x10, 0xc1], "movss %xmm1,%xmm0 | zmm1:4 -> zmm0:4 | "),
    (&[0xf2, 0x0f, 0x58, 0xc1], "addsd %xmm1,%xmm0 | zmm0:8 zmm1:8 -> zmm0:8 | "),
    (&[0xf2, 0x0f, 0x2a, 0xc0], "cvtsi2sd %eax,%xmm0 | rax:4 -> zmm0:8 | "),
    (&[0xf3, 0x0f, 0x5a, 0xc0], "cvtss2sd %xmm0,%xmm0 | zmm0:4 -> zmm0:8 | "),
    (&[0x66, 0x0f, 0xef, 0xc0], "pxor %xmm0,%xmm0 |  -> zmm0:16 | "),
    (&[0x66, 0x0f, 0x74, 0xc0], "pcmpeqb %xmm0,%xmm0 |  -> zmm0:16 | "),
    (&[0xc5, 0xf1, 0xef, 0xc1], "vpxor %xmm1,%xmm1,%xmm0 |  -> zmm0 | "),
    (&[0x0f, 0x16, 0x00], "movhps (%rax),%xmm0 | rax -> zmm0:8@8 | L8 of zmm0:8@8"),
    (&[0x0f, 0x17, 0x00], "movhps %xmm0,(%rax) | rax zmm0:8@8 -> | S8 of zmm0:8@8"),
    (&[0x66, 0x0f, 0xd6, 0x00], "movq %xmm0,(%rax) | rax zmm0:8 -> | S8 of zmm0:8"),
    (&[0x66, 0x0f, 0x6c, 0xc1], "punpcklqdq %xmm1,%xmm0 | zmm0:8 zmm1:8 -> zmm0:16 | "),
    (&[0x48, 0x0f, 0x44, 0xc3], "cmove %rbx,%rax | rax rbx [rflags] -> rax | "),
    (&[0x0f, 0x44, 0x03], "cmove (%rbx),%eax | rax:4 rbx [rflags] -> rax | L4"),
    (&[0x0f, 0xbc, 0xc3], "bsf %ebx,%eax | rax rbx:4 -> rax [rflags] | "),
    (&[0x0f, 0x1f, 0x44, 0, 0], "nopl (%rax,%rax) |  -> | "),
    (&[0x48, 0x8d, 0x05, 1, 0, 0, 0], "lea 1(%rip),%rax | [rip] -> rax | "),
    (&[0xf3, 0xa4], "rep movsb (%rsi),(%rdi) | rcx rsi rdi [rflags] -> rcx rsi rdi | L1, S1 if"),
    (&[0xa4], "movsb (%rsi),(%rdi) | rsi rdi [rflags] -> rsi rdi | L1, S1"),
    (
        &[0xf0, 0x48, 0x0f, 0xb1, 0x0a],
        "lock cmpxchg %rcx,(%rdx) | rax rcx rdx -> rax [rflags] | L8, S8",
    ),
    (&[0x48, 0x87, 0x02], "xchg %rax,(%rdx) | rax rdx -> rax | L8, S8"),
    (
        &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0],
        "mov %fs:0x28,%rax | fs_base -> rax | L8 of rax",
    ),
    (&[0x0f, 0x05], "syscall | rax rdx rsi rdi r8 r9 r10 [rflags] -> rax rcx r11 [rflags] | "),
    (&[0xff, 0xe0], "jmp *%rax | rax -> [rip] | "),
    (&[0x74, 0xfe], "je 0x1000 | [rflags] -> [rip] | "),
    (&[0xde, 0xc1], "faddp | st0 st1 -> [fsw] st0 | "),
    (&[0xc5, 0xf9, 0x6e, 0xc0], "vmovd %eax,%xmm0 | rax:4 -> zmm0 | "),
    (&[0xc5, 0xf2, 0x58, 0xc2], "vaddss %xmm2,%xmm1,%xmm0 | zmm1:16 zmm2:4 -> zmm0 | "),
    (&[0xc5, 0xf1, 0x76, 0xc1], "vpcmpeqd %xmm1,%xmm1,%xmm0 | -> zmm0 | "),
    (&[0xc4, 0xe3, 0x79, 0x16, 0x00, 1], "vpextrd $1,%xmm0,(%rax) | rax zmm0:4@4 -> | S4"),
    (
        &[0xc4, 0xe2, 0x75, 0x8e, 0x00],
        "vpmaskmovd %ymm0,%ymm1,(%rax) | rax zmm0:32 zmm1:32 -> | S0",
    ),
    (
        &[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x88],
        "vpgatherdd %ymm2,(%rax,%ymm1,4),%ymm0 | rax zmm0:32 zmm1:32 zmm2:32 -> zmm0 zmm2 | L4 guarded, L4 guarded, L4 guarded, L4 guarded, L4 guarded, L4 guarded, L4 guarded, L4 guarded",
    ),
    (&[0xcd, 0x80], "int $0x80 | rax rcx:4 rdx:4 rbx:4 rbp:4 rsi:4 rdi:4 -> rax | "),
    (
        &[0xf0, 0x0f, 0xb1, 0x0a],
        "lock cmpxchg %ecx,(%rdx) | rax:4 rcx:4 rdx -> rax [rflags] | L4, S4",
    ),
    (&[0x0f, 0x14, 0xc1], "unpcklps %xmm1,%xmm0 | zmm0:8 zmm1:8 -> zmm0:16 | "),
    (&[0x0f, 0x15, 0xc1], "unpckhps %xmm1,%xmm0 | zmm0:8@8 zmm1:8@8 -> zmm0:16 | "),
    (
        &[0x0f, 0xc6, 0xc1, 0x1b],
        "shufps $0x1B,%xmm1,%xmm0 | zmm0:4@8 zmm0:4@12 zmm1:4 zmm1:4@4 -> zmm0:16 | ",
    ),
    (&[0x66, 0x0f, 0x70, 0xc1, 0], "pshufd $0,%xmm1,%xmm0 | zmm1:4 -> zmm0:16 | "),
    (&[0x66, 0x0f, 0x73, 0xd8, 12], "psrldq $0xC,%xmm0 | zmm0:4@12 -> zmm0:16 | "),
    (&[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 4], "palignr $4,%xmm1,%xmm0 | zmm0:4 zmm1:12@4 -> zmm0:16 | "),
    (
        &[0x66, 0x0f, 0x3a, 0x0e, 0xc1, 0xf0],
        "pblendw $0xF0,%xmm1,%xmm0 | zmm1:2@8 zmm1:2@10 zmm1:2@12 zmm1:2@14 -> zmm0:2@8 zmm0:2@10 zmm0:2@12 zmm0:2@14 | ",
    ),
    (
        &[0xc5, 0xf4, 0x14, 0xc2],
        "vunpcklps %ymm2,%ymm1,%ymm0 | zmm1:8 zmm1:8@16 zmm2:8 zmm2:8@16 -> zmm0 | ",
    ),
    (&[0xc4, 0xe3, 0x7d, 0x39, 0xc8, 1], "vextracti128 $1,%ymm1,%xmm0 | zmm1:16@16 -> zmm0 | "),
    (
        &[0xc4, 0xe2, 0xf1, 0xb9, 0xc2],
        "vfmadd231sd %xmm2,%xmm1,%xmm0 | zmm0:8 zmm1:8 zmm2:8 -> zmm0:8 zmm0:48@16 | ",
    ),
    (&[0xc5, 0xf3, 0x58, 0xc2], "vaddsd %xmm2,%xmm1,%xmm0 | zmm1:16 zmm2:8 -> zmm0 | "),
    (&[0xc5, 0xfb, 0x58, 0xc2], "vaddsd %xmm2,%xmm0,%xmm0 | zmm0:8 zmm2:8 -> zmm0:8 zmm0:48@16 | "),
    (&[0xc4, 0xe2, 0x7d, 0x18, 0xc1], "vbroadcastss %xmm1,%ymm0 | zmm1:4 -> zmm0 | "),
    (&[0xc5, 0xf2, 0x10, 0xc2], "vmovss %xmm2,%xmm1,%xmm0 | zmm1:12@4 zmm2:4 -> zmm0 | "),
    (&[0xc5, 0xf3, 0x2a, 0xc0], "vcvtsi2sd %eax,%xmm1,%xmm0 | rax:4 zmm1:8@8 -> zmm0 | "),
    (&[0xc5, 0xf3, 0x51, 0xc2], "vsqrtsd %xmm2,%xmm1,%xmm0 | zmm1:8@8 zmm2:8 -> zmm0 | "),
    (&[0xc4, 0xe3, 0xfd, 0x00, 0xc1, 0x55], "vpermq $0x55,%ymm1,%ymm0 | zmm1:8@8 -> zmm0 | "),
    (
        &[0x66, 0x0f, 0xf4, 0xc1],
        "pmuludq %xmm1,%xmm0 | zmm0:4 zmm0:4@8 zmm1:4 zmm1:4@8 -> zmm0:16 | ",
    ),
    (&[0x66, 0x0f, 0x3a, 0x17, 0xc0, 2], "extractps $2,%xmm0,%eax | zmm0:4@8 -> rax | "),
    (
        &[0x66, 0x0f, 0x3a, 0x21, 0xc1, 0x98],
        "insertps $0x98,%xmm1,%xmm0 | zmm1:4@8 -> zmm0:4@4 zmm0:4@12 | ",
    ),
    (&[0x66, 0x0f, 0xf2, 0xc1], "pslld %xmm1,%xmm0 | zmm0:16 zmm1:8 -> zmm0:16 | "),
    (
        &[0x66, 0x0f, 0x3a, 0x40, 0xc1, 0x31],
        "dpps $0x31,%xmm1,%xmm0 | zmm0:4 zmm0:4@4 zmm1:4 zmm1:4@4 -> zmm0:16 | ",
    ),
    (
        &[0x66, 0x0f, 0x3a, 0x44, 0xc1, 0x10],
        "pclmullqhqdq %xmm1,%xmm0 | zmm0:8 zmm1:8@8 -> zmm0:16 | ",
    ),
    (&[0x66, 0x0f, 0x3a, 0x20, 0xc0, 3], "pinsrb $3,%eax,%xmm0 | rax:1 -> zmm0:1@3 | "),
    (&[0xf2, 0x0f, 0x38, 0xf0, 0xc1], "crc32 %cl,%eax | rax:4 rcx:1 -> rax | "),
    (&[0xc5, 0xf8, 0x92, 0xc8], "kmovw %eax,%k1 | rax:2 -> k1 | "),
    (
        &[0x62, 0xf1, 0x6c, 0x09, 0x58, 0xc3],
        "vaddps %xmm3,%xmm2,%xmm0{%k1} | k1:1 zmm0:16 zmm2:16 zmm3:16 -> zmm0 | ",
    ),
    (
        &[0x62, 0xf1, 0x6c, 0x89, 0x58, 0xc3],
        "vaddps %xmm3,%xmm2,%xmm0{%k1}{z} | k1:1 zmm2:16 zmm3:16 -> zmm0 | ",
    ),
    (&[0xdb, 0x28], "fldt (%rax) | rax -> [fsw] st0 | L10"),
    (&[0xdb, 0x38], "fstpt (%rax) | rax st0 -> [fsw] | S10"),
];

#[test]
fn registers_and_memory_of_instructions() {
    let mut wrong = Vec::new();
    for (bytes, expected) in INSTRUCTIONS {
        let got = show(Isa::X86_64, bytes);
        // Blanks at the seams do not matter.
        let squeeze = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        if squeeze(&got) != squeeze(expected) {
            wrong.push(format!(
                "{bytes:02x?}\n  got      {}\n  expected {}",
                squeeze(&got),
                squeeze(expected)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        show(Isa::X86, &[0x8b, 0x44, 0x24, 8]).trim_end(),
        "mov 8(%esp),%eax | [esp] -> eax | L4 stack of eax"
    );
    assert_eq!(
        show(Isa::X86, &[0x65, 0xa1, 0x14, 0, 0, 0]),
        "mov %gs:0x14,%eax | gs_base -> eax | L4 of eax"
    );
}

/// `vzeroupper` writes zeros and reads nothing.
#[test]
fn upper_halves_are_zeroed_from_nothing() {
    let vzeroupper = X86::new(Isa::X86_64).decode(0x1000, &[0xc5, 0xf8, 0x77], false).unwrap();
    assert_eq!(vzeroupper.reads, []);
    let spans: Vec<_> = vzeroupper.writes.iter().map(|w| w.span).collect();
    let uppers: Vec<_> = (0..16).map(|n| span(VECTORS + 64 * n + 16, 48)).collect();
    assert_eq!(spans, uppers);
}

/// A gather loads the elements whose bit of the mask is set, each from its own address.
#[test]
fn gathers_load_element_by_element() {
    let file = registers(Isa::X86_64);
    // vgatherdpd %xmm2,(%rax,%xmm1,8),%xmm0
    let d =
        X86::new(Isa::X86_64).decode(0x1000, &[0xc4, 0xe2, 0xe9, 0x92, 0x04, 0xc8], false).unwrap();
    let (index, mask) = (file.lookup("xmm1").unwrap().offset, file.lookup("xmm2").unwrap().offset);
    let value = |s: RegSpan| match s {
        RegSpan { offset, size: 4 } if offset == index => Some(3),
        RegSpan { offset, size: 4 } if offset == index + 4 => Some(0xffff_ffff),
        RegSpan { offset, size: 1 } if offset == mask + 7 => Some(0x80),
        RegSpan { offset, size: 1 } if offset == mask + 15 => Some(0x7f),
        RegSpan { offset: 0, size: 8 } => Some(0x1000),
        _ => None,
    };
    let found: Vec<_> = d
        .memory
        .iter()
        .map(|m| (m.size, m.address.eval(&value), m.guard.as_ref().and_then(|g| g.eval(&value))))
        .collect();
    assert_eq!(found, [(8, Some(0x1018), Some(1)), (8, Some(0xff8), Some(0))], "{}", d.text);
}

#[test]
fn exception_returns_are_told_from_returns() {
    let kind = |isa, bytes: &[u8]| X86::new(isa).decode(0x1000, bytes, false).unwrap().flow.kind;
    for bytes in [&[0x48, 0xcf][..], &[0xcf], &[0x48, 0x0f, 0x07]] {
        assert_eq!(kind(Isa::X86_64, bytes), FlowKind::ExceptionReturn, "{bytes:02x?}");
    }
    assert_eq!(kind(Isa::X86, &[0xcf]), FlowKind::ExceptionReturn);
    assert_eq!(kind(Isa::X86_64, &[0xc3]), FlowKind::Return);
    let iretq = X86::new(Isa::X86_64).decode(0x1000, &[0x48, 0xcf], false).unwrap();
    assert!(iretq.memory.len() == 5 && iretq.memory.iter().all(|m| m.control && m.size == 8));
}

#[test]
fn addresses_come_from_registers() {
    let file = registers(Isa::X86_64);
    let value = |s: RegSpan| match file.at(s.offset).map(|r| r.name.as_str()) {
        Some("rax") => Some(0x1_0000_0010 & (u64::MAX >> (64 - 8 * s.size))),
        Some("rcx") => Some(3u64),
        Some("rdx") => Some((-9i64) as u64),
        Some("rsp") => Some(0x8000),
        Some("fs_base") => Some(0x7000),
        _ => None,
    };
    let mut decoder = X86::new(Isa::X86_64);
    let mut at =
        |bytes: &[u8]| decoder.decode(0x1000, bytes, false).unwrap().memory[0].address.eval(&value);
    assert_eq!(at(&[0x8b, 0x44, 0x88, 0xfc]), Some(0x1_0000_0018)); // -4(%rax,%rcx,4)
    assert_eq!(at(&[0x67, 0x8b, 0x00]), Some(0x10)); // (%eax)
    assert_eq!(at(&[0x8b, 0x05, 0x10, 0, 0, 0]), Some(0x1016)); // 0x10(%rip)
    assert_eq!(at(&[0x55]), Some(0x7ff8));
    assert_eq!(at(&[0x64, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff]), Some(0x6ff8)); // %fs:-8
    assert_eq!(at(&[0x48, 0x0f, 0xab, 0x10]), Some(0x1_0000_0010 - 8)); // bts %rdx,(%rax)
}

#[test]
fn every_name_leads_to_its_register_and_ranges_are_disjoint() {
    for isa in [Isa::X86_64, Isa::X86] {
        let file = registers(isa);
        assert!(file.all.windows(2).all(|w| w[0].span.offset + w[0].span.size <= w[1].span.offset));
        assert!(file.names.values().all(|s| {
            file.at(s.offset).is_some_and(|r| s.offset + s.size <= r.span.offset + r.span.size)
        }));
        assert!(file.all.iter().all(|r| file.lookup(&r.name) == Some(r.span)));
    }
    let file = registers(Isa::X86_64);
    for (name, offset, size) in [
        ("AL", 0, 1),
        ("ah", 1, 1),
        ("r8d", 64, 4),
        ("sil", 48, 1),
        ("r15b", 120, 1),
        ("ymm2", VECTORS + 128, 32),
    ] {
        assert_eq!(file.lookup(name), Some(span(offset, size)), "{name}");
    }
    assert_eq!(registers(Isa::X86).lookup("rax"), None);
}

#[test]
fn arbitrary_bytes_do_not_panic() {
    let mut state = 1u64;
    for isa in [Isa::X86_64, Isa::X86] {
        let mut decoder = X86::new(isa);
        for _ in 0..300_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&state.to_le_bytes());
            bytes[8..].copy_from_slice(&(state.rotate_left(27) ^ state).to_be_bytes());
            if state & 3 == 0 {
                // Towards VEX and EVEX.
                bytes[0] = [0xc4, 0xc5, 0x62, 0x0f][(state >> 2) as usize & 3];
            }
            let Some(d) = decoder.decode(state, &bytes, false) else { continue };
            for list in [&d.reads, &d.writes] {
                assert!(
                    list.windows(2).all(|w| w[0].span.offset + w[0].span.size <= w[1].span.offset),
                    "{}",
                    d.text
                );
                assert!(
                    list.iter().all(|a| a.span.offset + a.span.size <= END && a.span.size > 0),
                    "{}",
                    d.text
                );
            }
        }
    }
}

/// Pushes and pops of the x87 rename its registers; other instructions do not.
#[test]
fn what_renames_registers() {
    let mut x86 = X86::new(Isa::X86_64);
    for (bytes, renames) in [
        (&[0xdb, 0x28][..], true),    // fldt (%rax)
        (&[0xde, 0xc1], true),        // faddp
        (&[0xd8, 0xc1], false),       // fadd %st(1), %st
        (&[0x48, 0x89, 0xc8], false), // mov %rcx, %rax
    ] {
        assert_eq!(x86.decode(0x1000, bytes, false).map(|d| d.renames), Some(renames));
    }
}

/// The register, by name, with the size of what it gets; `memory`: it goes there.
fn moved(bytes: &[u8]) -> Option<String> {
    let decoded = X86::new(Isa::X86_64).decode(0x1000, bytes, false).unwrap();
    Some(match decoded.moved? {
        Moved::ToMemory => "memory".into(),
        Moved::ToRegister(span) => names(Isa::X86_64, &[RegAccess { span, control: false }]),
    })
}

/// Names that begin with `mov` say little.
#[test]
fn what_loads_leave_as_it_was() {
    for (bytes, expected) in [
        (&[0x0f, 0xb6, 0x07][..], "rax:1"),     // movzbl (%rdi),%eax
        (&[0x66, 0x0f, 0xbe, 0x07], "rax:1"),   // movsbw (%rdi),%ax
        (&[0x48, 0x63, 0x56, 0x04], "rdx:4"),   // movslq 4(%rsi),%rdx
        (&[0x8b, 0x00], "rax:4"),               // mov (%rax),%eax
        (&[0x48, 0x8b, 0x00], "rax"),           // mov (%rax),%rax
        (&[0x8a, 0x27], "rax:1@1"),             // mov (%rdi),%ah
        (&[0xc5, 0xfe, 0x6f, 0x07], "zmm0:32"), // vmovdqu (%rdi),%ymm0
        (&[0x66, 0x0f, 0x6e, 0x08], "zmm1:4"),  // movd (%rax),%xmm1
        (&[0xf3, 0x0f, 0x10, 0x00], "zmm0:4"),  // movss (%rax),%xmm0
        (&[0xac], "rax:1"),                     // lods (%rsi),%al
        (&[0x48, 0xad], "rax"),                 // lods (%rsi),%rax
        (&[0x5b], "rbx"),                       // pop %rbx
        (&[0xf3, 0xa4], "memory"),              // rep movsb (%rsi),(%rdi)
        (&[0x48, 0xa5], "memory"),              // movsq (%rsi),(%rdi)
    ] {
        assert_eq!(moved(bytes).as_deref(), Some(expected), "{bytes:02x?}");
    }
    for bytes in [
        &[0xf2, 0x0f, 0x12, 0x07][..],         // movddup (%rdi),%xmm0
        &[0xc5, 0xfb, 0x12, 0x07],             // vmovddup (%rdi),%xmm0
        &[0xf3, 0x0f, 0x16, 0x07],             // movshdup (%rdi),%xmm0
        &[0xc4, 0xe2, 0x7d, 0x18, 0x07],       // vbroadcastss (%rdi),%ymm0
        &[0x0f, 0x38, 0xf0, 0x07],             // movbe (%rdi),%eax
        &[0x0f, 0x44, 0x07],                   // cmove (%rdi),%eax
        &[0x03, 0x07],                         // add (%rdi),%eax
        &[0x87, 0x07],                         // xchg %eax,(%rdi)
        &[0xa6],                               // cmpsb (%rdi),(%rsi)
        &[0xf3, 0xac],                         // rep lods (%rsi),%al
        &[0x89, 0x07],                         // mov %eax,(%rdi)
        &[0x62, 0xf1, 0x7c, 0x49, 0x10, 0x07], // vmovups (%rdi),%zmm0{%k1}
        &[0x0f, 0x50, 0xc0],                   // movmskps %xmm0,%eax
        &[0xff, 0x37],                         // push (%rdi)
    ] {
        assert_eq!(moved(bytes), None, "{bytes:02x?}");
    }
}
