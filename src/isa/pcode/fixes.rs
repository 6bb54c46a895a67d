//! Where the specifications are known to differ from the machine.

use super::evaluated::Evaluated;
use super::symbolic::effects::ByteValue;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::MemOperand;
use crate::isa::expr::{Expr, Operator};
use crate::registers::risc::{RISCV_F, RISCV_X};
use std::collections::BTreeSet;

/// SIMD instructions whose destination is an operand too; the specifications' placeholders leave
/// that out.
const ARM_ACCUMULATES: &str = "vmla vmls vfma vfms vmlal vmlsl vqdmlal vqdmlsl vsra vrsra vsli \
    vsri vaba vabal vpadal vbsl vbit vbif vtbx vswp vtrn vzip vuzp vfmal vfmsl vqrdmlah aese aesd";
const AARCH64_ACCUMULATES: &str = "mla mls fmla fmls smlal smlal2 umlal \
    umlal2 smlsl smlsl2 umlsl umlsl2 sqdmlal sqdmlal2 sqdmlsl sqdmlsl2 saba uaba \
    sabal sabal2 uabal uabal2 sadalp uadalp ssra usra srsra ursra sli sri bsl bit bif tbx suqadd \
    usqadd aese aesd sha1c sha1m sha1p sha1su0 sha1su1 sha256h sha256h2 sha256su0 \
    sha256su1 sha512h sha512h2 sha512su0 sha512su1";
/// What `dc zva` zeroes: DCZID_EL0 says how many bytes; 64 is what processors have and what C
/// libraries test for.
const ZERO_BLOCK: u32 = 64;

/// Bytes of our register file.
type Bytes = BTreeSet<u16>;

impl Evaluated<'_> {
    /// Registers that the specifications leave out or have wrong.
    pub fn mend_registers(&self, reads: &mut Bytes, writes: &mut Bytes) {
        match self.isa {
            Isa::Aarch64 => {
                self.mend_vector_operands(reads, writes);
                if self.is_ldapr() {
                    reads.extend(self.base().into_iter().flat_map(RegSpan::bytes));
                }
                self.mend_flags(reads, writes);
                self.mend_system(reads, writes);
                self.mend_sve(reads, writes);
                self.mend_destinations(reads, writes);
                self.mend_simd(reads, writes);
            }
            Isa::Arm if self.is_unknown_simd() => {
                reads.clear();
                writes.clear();
            }
            Isa::Arm if self.is_sum_of_differences() => self.mend_differences(reads, writes),
            Isa::Arm if self.accumulates() => {
                let q0 = self.file.lookup("q0").map_or(u16::MAX, |r| r.offset);
                reads.extend(writes.range(q0..));
            }
            Isa::Riscv32 | Isa::Riscv64 => {
                self.mend_register_moves(reads, writes);
                self.mend_computations(reads, writes);
                self.mend_compressed(reads, writes);
                self.mend_vector_length(reads, writes);
                self.mend_system(reads, writes);
            }
            _ => {}
        }
        self.mend_parts(reads, writes);
    }

    /// AArch64's `srhadd` and `fmls`: the specification writes the wrong register, or reads the
    /// destination instead of the last operand.
    fn mend_vector_operands(&self, reads: &mut Bytes, writes: &mut Bytes) {
        let vector = self.field(24, 5) == 0x0e && self.field(10, 1) == 1;
        if !vector || !matches!(self.mnemonic(), "srhadd" | "fmls") {
            return;
        }
        let width = if self.field(30, 1) == 1 { 16 } else { 8 };
        reads.clear();
        writes.clear();
        for v in [5, 16].into_iter().filter_map(|low| self.register('v', low)) {
            reads.extend(v.offset..v.offset + width);
        }
        writes.extend(self.register('v', 0).into_iter().flat_map(RegSpan::bytes));
    }

    /// AArch64's flags as a system register.
    fn mend_flags(&self, reads: &mut Bytes, writes: &mut Bytes) {
        if let Some(flags) = self.file.lookup("nzcv").filter(|_| self.text.contains("nzcv")) {
            let list = if self.mnemonic() == "mrs" { reads } else { writes };
            list.extend(flags.bytes());
        }
    }

    /// Moves to registers of the system that are not in the register file: what is moved there is read, too.
    fn mend_system(&self, reads: &mut Bytes, writes: &mut Bytes) {
        let riscv = |low| {
            let name = RISCV_X[self.field(low, 5) as usize];
            self.file.lookup(name).filter(|_| name != "zero").into_iter().flat_map(RegSpan::bytes)
        };
        match self.isa {
            // `msr`
            Isa::Aarch64 if self.word & 0xfff0_0000 == 0xd510_0000 => {
                reads.extend(self.register('x', 0).into_iter().flat_map(RegSpan::bytes));
            }
            // `csrrw`, `csrrs`, `csrrc`, but of `fcsr` and its parts.
            Isa::Riscv32 | Isa::Riscv64
                if self.field(0, 7) == 0x73
                    && matches!(self.field(12, 3), 1..=3)
                    && !matches!(self.field(20, 12), 1..=3) =>
            {
                reads.extend(riscv(15));
                writes.extend(riscv(7));
            }
            _ => {}
        }
    }

    /// AArch64's writes that zero the upper part of their register, and destinations that are
    /// operands too.
    fn mend_destinations(&self, reads: &mut Bytes, writes: &mut Bytes) {
        let lane = self.writes_lane();
        let v0 = self.file.lookup("v0").map_or(u16::MAX, |r| r.offset);
        let accumulates = self.accumulates();
        for register in &self.file.all {
            let all = register.span.bytes();
            if register.control || writes.range(all.clone()).next().is_none() {
                continue;
            }
            if register.span.offset < v0 {
                writes.extend(all);
                continue;
            }
            let own: Vec<u16> = writes.range(all.clone()).copied().collect();
            // Scalars and 64-bit vectors zero the upper part.
            if !lane && writes.contains(&register.span.offset) {
                writes.extend(all.clone());
            }
            if accumulates && !self.zeroed(register.span) {
                let zero = |b: &u16| self.effects.finals.get(b) == Some(&ByteValue::Zero);
                reads.extend(own.into_iter().filter(|b| !zero(b)));
            }
        }
    }

    /// `v0.d[1]` and `{v0.b}[3]` as the destination: a lane, the others stay.
    fn writes_lane(&self) -> bool {
        let operands = self.text.split_once(' ').map_or("", |(_, operands)| operands);
        let destination = operands.split(',').next().unwrap_or("");
        destination.contains('[') && !destination.trim_start().starts_with('[')
    }

    fn zeroed(&self, span: RegSpan) -> bool {
        span.bytes().all(|b| self.effects.finals.get(&b) == Some(&ByteValue::Zero))
    }

    /// A32's USAD8 and USADA8.
    fn is_sum_of_differences(&self) -> bool {
        self.mnemonic().starts_with("usad") && self.word & 0x0ff0_00f0 == 0x0780_0010
    }

    /// The fields are mixed up: Rd 19:16, Ra 15:12 (15: none), Rm 11:8, Rn 3:0.
    fn mend_differences(&self, reads: &mut Bytes, writes: &mut Bytes) {
        reads.clear();
        writes.clear();
        let sources = [0, 8, 12].into_iter().filter(|low| *low != 12 || self.field(12, 4) != 15);
        reads.extend(sources.filter_map(|low| self.register('r', low)).flat_map(RegSpan::bytes));
        writes.extend(self.register('r', 16).into_iter().flat_map(RegSpan::bytes));
    }

    /// RISC-V's moves and conversions between the register files, which some specifications lose.
    fn mend_register_moves(&self, reads: &mut Bytes, writes: &mut Bytes) {
        let name = |names: [&'static str; 32], low| names[self.field(low, 5) as usize];
        let (from, to) = match (self.field(0, 7), self.field(25, 7), self.field(12, 3)) {
            // To integers, and classes.
            (0x53, 0x60 | 0x61, _) | (0x53, 0x70 | 0x71, 0 | 1) => {
                (name(RISCV_F, 15), name(RISCV_X, 7))
            }
            (0x53, 0x78 | 0x79, 0) => (name(RISCV_X, 15), name(RISCV_F, 7)),
            _ => return,
        };
        let width = if self.field(25, 2) == 1 { 8 } else { 4 };
        let register = |name: &str| self.file.lookup(name).filter(|_| name != "zero");
        reads.clear();
        writes.clear();
        if let Some(r) = register(from) {
            reads.extend(r.offset..r.offset + r.size.min(width));
        }
        writes.extend(register(to).into_iter().flat_map(RegSpan::bytes));
    }

    /// RISC-V's compressed loads and stores of single floats, which have 32 bits only: the specification moves all of
    /// the register. None: it is no such instruction.
    fn single_float(&self) -> Option<bool> {
        let is_load = match (self.isa, self.field(0, 2), self.field(13, 3)) {
            (Isa::Riscv32, 0 | 2, 3) => true,
            (Isa::Riscv32, 0 | 2, 7) => false,
            _ => return None,
        };
        Some(is_load)
    }

    /// Registers of RISC-V's compressed instructions of which less is used than the specification says: what is stored of
    /// a single float, and the word that `c.addiw` adds to.
    fn mend_compressed(&self, reads: &mut Bytes, writes: &mut Bytes) {
        let adds = (self.isa, self.field(0, 2), self.field(13, 3)) == (Isa::Riscv64, 1, 1);
        let stores = self.single_float() == Some(false);
        if !adds && !stores {
            return;
        }
        let names = if adds { RISCV_X } else { RISCV_F };
        for span in names.iter().filter_map(|name| self.file.lookup(name)) {
            if stores || writes.contains(&span.offset) {
                let upper = span.offset + 4..span.offset + span.size.max(4);
                reads.retain(|byte| !upper.contains(byte));
            }
        }
    }

    /// `vsetvli`, `vsetivli` and `vsetvl`: the wanted length, and the one that is.
    fn mend_vector_length(&self, reads: &mut Bytes, writes: &mut Bytes) {
        if (self.field(0, 7), self.field(12, 3)) != (0x57, 7) {
            return;
        }
        let register = |low| {
            let name = RISCV_X[self.field(low, 5) as usize];
            self.file.lookup(name).filter(|_| name != "zero").into_iter().flat_map(RegSpan::bytes)
        };
        if self.field(30, 2) != 3 {
            reads.extend(register(15));
        }
        if self.field(30, 2) == 2 {
            reads.extend(register(20));
        }
        writes.extend(register(7));
    }

    /// Computations of RISC-V's extensions for which the specifications have a name only (Zba, Zbb,
    /// Zbc, Zbs): the operands are where the base instructions of these opcodes have theirs.
    ///
    /// Source: RISC-V Instruction Set Manual, volume I, "RV32/64G Instruction Set Listings".
    fn mend_computations(&self, reads: &mut Bytes, writes: &mut Bytes) {
        if !self.computes() || !self.effects.ops.is_empty() {
            return;
        }
        let register = |low| {
            let name = RISCV_X[self.field(low, 5) as usize];
            self.file.lookup(name).filter(|_| name != "zero")
        };
        let two_sources = self.field(5, 1) == 1;
        let sources = [Some(15), two_sources.then_some(20)];
        // A destination of x0 makes hints of them.
        let Some(to) = register(7) else { return };
        // Words: the lower half, but for what `add.uw` and `sh1add.uw` add to.
        let words = self.field(3, 1) == 1;
        let added = matches!((self.field(25, 7), self.field(12, 3)), (0x04, 0) | (0x10, _));
        for low in sources.into_iter().flatten() {
            let half = words && !(low == 20 && added);
            let bytes = register(low).into_iter().flat_map(RegSpan::bytes);
            reads.extend(bytes.take(if half { 4 } else { 8 }));
        }
        writes.extend(to.bytes());
    }

    /// OP, OP-32, OP-IMM or OP-IMM-32 of RISC-V.
    pub fn computes(&self) -> bool {
        matches!(self.isa, Isa::Riscv32 | Isa::Riscv64)
            && matches!(self.field(0, 7), 0x13 | 0x1b | 0x33 | 0x3b)
    }

    /// SIMD instructions whose destination is an operand too.
    fn accumulates(&self) -> bool {
        let names = match self.isa {
            Isa::Arm => ARM_ACCUMULATES,
            Isa::Aarch64 => AARCH64_ACCUMULATES,
            _ => return false,
        };
        names.split(' ').any(|name| name == self.mnemonic())
    }

    fn is_ldapr(&self) -> bool {
        self.word & 0x3fff_fc00 == 0x38bf_c000
    }

    /// The base register of an AArch64 load or store.
    fn base(&self) -> Option<RegSpan> {
        self.register('x', 5)
    }

    /// Accesses that the specifications leave out, or have with a wrong size, address or order.
    pub fn mend_memory(&self, memory: &mut Vec<MemOperand>) {
        match self.isa {
            Isa::Aarch64 => self.mend_aarch64_memory(memory),
            Isa::Arm => self.mend_arm_memory(memory),
            // Atomic minimum and maximum always store.
            _ if self.field(0, 7) == 0x2f => memory.iter_mut().for_each(|o| o.guard = None),
            _ if self.single_float().is_some() => memory.iter_mut().for_each(|o| {
                o.size = 4;
                let stored = o.data_register.filter(|_| o.is_write);
                o.data_register = stored.map(|register| RegSpan { size: 4, ..register });
            }),
            _ => {}
        }
    }

    fn mend_aarch64_memory(&self, memory: &mut Vec<MemOperand>) {
        let name = self.mnemonic();
        // Load-acquire and store-release: the size is in the opcode (`ldar w` is 8 bytes in the
        // specification).
        if self.word & 0x3fa0_0000 == 0x0880_0000 {
            let size = 1 << self.field(30, 2);
            for operand in memory.iter_mut().filter(|o| o.size > size) {
                operand.size = size;
                operand.data_register = None;
            }
        }
        // LDAPR of 64 bits loads nothing in the specification.
        if self.is_ldapr() && memory.is_empty() {
            let base = self.base();
            let address = base.map_or(Expr::Unknown, Expr::Reg);
            memory.push(MemOperand {
                stack_relative: base == self.file.sp,
                ..MemOperand::plain(false, 1 << self.field(30, 2), address)
            });
        }
        // The second word of the pair is 4 bytes on, not 8.
        if name == "ldpsw"
            && let [first, second] = memory.as_mut_slice()
        {
            second.address = first.address.clone().offset(4);
        }
        if self.text.starts_with("dc zva") && memory.is_empty() {
            let register = self.effects.reads.first().map(|b| RegSpan { offset: *b, size: 8 });
            let block = Expr::Const(!u64::from(ZERO_BLOCK - 1));
            let address =
                register.map_or(Expr::Unknown, |r| Expr::Reg(r).binary(Operator::And, block));
            memory.push(MemOperand::plain(true, ZERO_BLOCK, address));
        }
        if matches!(name.as_bytes(), [b'l', b'd', b'1'..=b'4'] | [b's', b't', b'1'..=b'4']) {
            *memory = merge(std::mem::take(memory), 16);
        }
    }

    fn mend_arm_memory(&self, memory: &mut [MemOperand]) {
        // The specification stores multiple registers from the top; the machine makes them in
        // ascending order.
        let descends = |pair: &[MemOperand]| {
            let offset = |m: &MemOperand| offset_of(&m.address);
            offset(&pair[0]).zip(offset(&pair[1])).is_some_and(|(a, b)| b < a)
        };
        if memory.len() > 1 && memory.windows(2).all(descends) {
            memory.reverse();
        }
        // STMIA sp! in T32 is a push in the specification.
        if self.word >> 16 == 0xe8ad
            && let Some(sp) = self.file.sp
        {
            for (m, i) in memory.iter_mut().zip(0u64..) {
                m.address = Expr::Reg(sp).offset(4 * i).truncate(32);
            }
        }
    }
}

/// Constant part of a sum of 32 bits.
fn offset_of(address: &Expr) -> Option<i32> {
    match address {
        Expr::Const(c) => u32::try_from(c & 0xffff_ffff).ok().map(u32::cast_signed),
        Expr::ZeroExtend(_, inner) => offset_of(inner),
        Expr::Binary(Operator::Add, _, right) => match **right {
            Expr::Const(_) => offset_of(right),
            _ => None,
        },
        Expr::Reg(_) => Some(0),
        _ => None,
    }
}

/// Joins accesses of adjacent addresses up to `limit` bytes (the specification lists structure
/// loads byte by byte).
fn merge(memory: Vec<MemOperand>, limit: u32) -> Vec<MemOperand> {
    let mut out: Vec<MemOperand> = Vec::new();
    for m in memory {
        if let Some(last) = out.last_mut()
            && last.is_write == m.is_write
            && last.guard == m.guard
            && last.size + m.size <= limit
            && last.address.clone().offset(last.size.into()).truncate(64) == m.address
        {
            last.data_register = match (last.data_register, m.data_register) {
                (Some(a), Some(b)) if a.end() == b.offset => {
                    Some(RegSpan { offset: a.offset, size: a.size + b.size })
                }
                _ => None,
            };
            last.size += m.size;
        } else {
            out.push(m);
        }
    }
    out
}
