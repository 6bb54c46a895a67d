//! The registers of system calls, by the conventions of Linux.
//!
//! How many arguments a call takes depends on its number. Most system call instructions have one
//! number, which the instruction before gives: from it the registers that are no arguments are
//! known. Elsewhere (`syscall(2)` itself) all that can be arguments count as read.
//!
//! Source: syscall(2), "Architecture calling conventions"; the numbers are those of
//! `asm/unistd.h`.

use super::decoded::{Decoded, FlowKind};
use super::registers;
use crate::event::{InsnDef, Isa};

/// Names of the registers that can hold arguments, in their order.
pub fn argument_names(isa: Isa) -> &'static [&'static str] {
    match isa {
        Isa::X86_64 => &["rdi", "rsi", "rdx", "r10", "r8", "r9"],
        Isa::X86 => &["ebx", "ecx", "edx", "esi", "edi", "ebp"],
        Isa::Arm => &["r0", "r1", "r2", "r3", "r4", "r5", "r6"],
        Isa::Aarch64 => &["x0", "x1", "x2", "x3", "x4", "x5"],
        Isa::Riscv32 | Isa::Riscv64 => &["a0", "a1", "a2", "a3", "a4", "a5"],
    }
}

/// Names of those in which the kernel gives a signal's handler the signal's number, what is known of it, and the
/// context that it interrupts.
pub fn handler_names(isa: Isa) -> &'static [&'static str] {
    match isa {
        // For handlers that take their arguments so: they also are on the stack.
        Isa::X86 => &["eax", "edx", "ecx"],
        isa => &argument_names(isa)[..3],
    }
}

/// Name of the register that has the number.
pub fn number_name(isa: Isa) -> &'static str {
    match isa {
        Isa::X86_64 => "rax",
        Isa::X86 => "eax",
        Isa::Arm => "r7",
        Isa::Aarch64 => "x8",
        Isa::Riscv32 | Isa::Riscv64 => "a7",
    }
}

/// Takes the registers from the reads of a system call that are no arguments of it, where its
/// number is known.
pub fn narrow(
    decoded: &mut Decoded,
    def: &InsnDef,
    isa: Isa,
    code: &dyn Fn(u64) -> Option<Vec<u8>>,
) {
    if decoded.flow.kind != FlowKind::Syscall {
        return;
    }
    let number = number_before(def, isa, code);
    let Some(count) = number.and_then(|number| argument_count(isa, number)) else { return };
    let file = registers(isa);
    for name in argument_names(isa).iter().skip(count) {
        if let Some(span) = file.lookup(name) {
            decoded.reads.retain(|r| r.span != span);
        }
    }
}

/// Takes from a system call the registers that the convention of Linux gives it: where what it enters
/// is part of the trace, that code reads and writes them. What an emulator or its firmware may carry
/// out itself keeps them: `hvc`, `smc`, and semihosting.
///
/// Source: Arm, "Semihosting for AArch32 and AArch64", 3; SMC Calling Convention (DEN 0028).
pub fn enters(decoded: &mut Decoded, isa: Isa) {
    let mut words = decoded.text.split_whitespace();
    let is_carried_out = match (words.next(), words.next()) {
        (Some("hvc" | "smc"), _) => true,
        (Some("svc" | "swi"), Some("0x123456")) => isa == Isa::Arm && decoded.size == 4,
        (Some("svc" | "swi"), Some("0xab")) => isa == Isa::Arm && decoded.size == 2,
        _ => false,
    };
    if decoded.flow.kind != FlowKind::Syscall || is_carried_out {
        return;
    }
    let file = registers(isa);
    // `int $0x80` has the convention of 32-bit code in 64-bit code, too.
    let others: &[&str] = if isa == Isa::X86_64 { argument_names(Isa::X86) } else { &[] };
    let number = number_name(isa);
    let names = argument_names(isa).iter().chain(others).chain([&number]);
    let spans: Vec<_> = names.filter_map(|name| file.lookup(name)).collect();
    let result = match isa {
        Isa::X86_64 | Isa::X86 => file.lookup(number),
        _ => spans.first().copied(),
    };
    decoded.reads.retain(|r| !spans.iter().any(|s| s.overlaps(r.span)));
    decoded.writes.retain(|w| !result.is_some_and(|result| result.overlaps(w.span)));
}

/// The number that the instruction before a system call gives to its register.
fn number_before(def: &InsnDef, isa: Isa, code: &dyn Fn(u64) -> Option<Vec<u8>>) -> Option<u32> {
    let before = |distance: u64| code(def.address.checked_sub(distance)?);
    let half = || Some(u32::from(u16::from_le_bytes(before(2)?.get(..2)?.try_into().ok()?)));
    let word = || Some(u32::from_le_bytes(before(4)?.get(..4)?.try_into().ok()?));
    match isa {
        // mov $number,%eax; xor %eax,%eax
        Isa::X86_64 | Isa::X86 => match before(5)?.get(..5)? {
            [0xb8, number @ ..] => Some(u32::from_le_bytes(number.try_into().ok()?)),
            [.., 0x31, 0xc0] => Some(0),
            _ => None,
        },
        // movs r7, #number
        Isa::Arm if def.thumb => half().filter(|h| h >> 8 == 0x27).map(|h| h & 0xff),
        // mov r7, #number
        Isa::Arm => word().filter(|w| w >> 8 == 0xe3_a070).map(|w| w & 0xff),
        // mov x8, #number
        Isa::Aarch64 => word().filter(|w| w & 0x7fe0_001f == 0x5280_0008).map(|w| w >> 5 & 0xffff),
        // li a7, number
        Isa::Riscv32 | Isa::Riscv64 => match word()? {
            wide if wide & 0x800f_ffff == 0x0000_0893 => Some(wide >> 20),
            short if short >> 16 & 0xff83 == 0x4881 => Some(short >> 18 & 31),
            _ => None,
        },
    }
}

/// How many arguments a call takes; None for numbers that are not listed.
fn argument_count(isa: Isa, number: u32) -> Option<usize> {
    let lists: &[&[u32]; 7] = match isa {
        Isa::X86_64 => &X86_64,
        Isa::X86 | Isa::Arm => &OLD_NUMBERS,
        Isa::Aarch64 | Isa::Riscv32 | Isa::Riscv64 => &GENERIC,
    };
    lists.iter().position(|numbers| numbers.contains(&number))
}

/// Numbers of calls with no, one, two, ... arguments.
const X86_64: [&[u32]; 7] = [
    &[15, 24, 34, 39, 57, 58, 102, 104, 107, 108, 110, 111, 112, 162, 186, 219],
    &[
        3, 12, 22, 32, 37, 60, 63, 74, 75, 80, 81, 84, 87, 95, 99, 100, 105, 106, 121, 124, 201,
        213, 218, 231, 291,
    ],
    &[
        4, 5, 6, 11, 21, 33, 35, 36, 48, 50, 62, 76, 77, 79, 82, 83, 85, 86, 88, 90, 91, 96, 97,
        98, 130, 131, 137, 138, 158, 160, 200, 228, 229, 273, 290, 293,
    ],
    &[
        0, 1, 2, 7, 8, 10, 16, 19, 20, 26, 27, 28, 38, 41, 42, 43, 46, 47, 49, 51, 52, 59, 72, 78,
        89, 92, 93, 118, 203, 204, 217, 222, 234, 258, 263, 268, 269, 292, 318, 324,
    ],
    &[13, 14, 17, 18, 40, 53, 61, 128, 230, 232, 233, 257, 262, 264, 267, 288, 302, 334],
    &[23, 25, 54, 55, 56, 157, 271, 332],
    &[9, 44, 45, 202, 270, 281],
];

/// AArch64 and RISC-V.
const GENERIC: [&[u32]; 7] = [
    &[124, 139, 172, 173, 174, 175, 176, 177, 178],
    &[23, 57, 93, 94, 96, 153, 160, 214],
    &[17, 80, 99, 101, 113, 129, 132, 163, 165, 169, 215],
    &[24, 25, 29, 34, 35, 48, 61, 62, 63, 64, 65, 66, 131, 221, 226, 233, 278],
    &[56, 67, 68, 78, 79, 134, 135, 260, 261, 293],
    &[216, 220, 291],
    &[98, 222],
];

/// 32-bit ARM and x86, as far as they agree.
const OLD_NUMBERS: [&[u32]; 7] = [
    &[20, 173, 199, 200, 201, 202, 224],
    &[1, 6, 45, 122, 248],
    &[91, 197],
    &[3, 4, 5, 54, 125, 146],
    &[174, 175],
    &[],
    &[192, 240],
];
