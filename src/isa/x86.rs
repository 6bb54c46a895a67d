//! x86 and x86-64 through iced-x86.
//!
//! What iced says of an instruction's registers and memory is taken over with these changes: flags,
//! stack pointer, program counter and control words are control; zeroing idioms read nothing;
//! scalar and half-register SSE operands count the bytes that they touch; a register that is
//! written conditionally is read as well, as its old bytes may survive. The x87 registers are named
//! from the top of the stack as the instruction sees them: reads before it, writes after its push
//! or pop; that a push or pop renames the others is not followed.

use super::{
    Decoded, Decoder, Expr, Flow, FlowKind, MemOperand, Op, RegAccess, Register, Registers,
};
use crate::event::{Isa, RegSpan};
use iced_x86::{
    CodeSize, Decoder as IcedDecoder, DecoderOptions, EncodingKind, FlowControl, Formatter,
    GasFormatter, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register as Iced, RflagsBits, UsedMemory,
};
use std::sync::OnceLock;

const RIP: u16 = 128;
const FLAGS: u16 = 136;
const FS_BASE: u16 = 144;
const GS_BASE: u16 = 152;
const SELECTORS: u16 = 160;
const MXCSR: u16 = 172;
const FPU_CONTROL: u16 = 176;
const FPU_STATUS: u16 = 178;
const MASKS: u16 = 192;
const X87: u16 = 256;
const VECTORS: u16 = 384;
const CONTROL_REGISTERS: u16 = VECTORS + 32 * 64;
const END: u16 = CONTROL_REGISTERS + 16 * 8;

const GPR64: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];
const SELECTOR_NAMES: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];

const fn span(offset: u16, size: u16) -> RegSpan {
    RegSpan { offset, size }
}

/// The register file; `isa` is one of the two x86.
pub fn registers(isa: Isa) -> &'static Registers {
    static WIDE: OnceLock<Registers> = OnceLock::new();
    static NARROW: OnceLock<Registers> = OnceLock::new();
    if isa == Isa::X86 {
        NARROW.get_or_init(|| register_file(false))
    } else {
        WIDE.get_or_init(|| register_file(true))
    }
}

/// Both instruction sets use the same offsets; 32-bit code has 4-byte general registers and 8 of
/// each kind.
fn register_file(wide: bool) -> Registers {
    let word = if wide { 8 } else { 4 };
    let count = if wide { 16 } else { 8 };
    let mut file = Registers { size: END as usize, ..Registers::default() };
    let mut add = |name: String, span: RegSpan, control: bool, aliases: &[&str]| {
        for alias in aliases.iter().copied().chain([name.as_str()]) {
            file.names.insert(alias.to_owned(), span);
        }
        file.all.push(Register { name, span, control });
    };
    for (i, name) in GPR64.iter().enumerate().take(count) {
        let name = if wide { (*name).to_owned() } else { name.replacen('r', "e", 1) };
        add(name, span(8 * i as u16, word), i == 4, &[]);
    }
    let (pc, flags) = if wide { ("rip", "rflags") } else { ("eip", "eflags") };
    add(pc.into(), span(RIP, word), true, &["rip", "eip", "pc"]);
    add(flags.into(), span(FLAGS, word), true, &["rflags", "eflags", "rfl", "efl"]);
    add("fs_base".into(), span(FS_BASE, word), false, &["fsbase"]);
    add("gs_base".into(), span(GS_BASE, word), false, &["gsbase"]);
    for (i, name) in SELECTOR_NAMES.iter().enumerate() {
        add((*name).into(), span(SELECTORS + 2 * i as u16, 2), true, &[]);
    }
    add("mxcsr".into(), span(MXCSR, 4), true, &[]);
    add("fcw".into(), span(FPU_CONTROL, 2), true, &["fctrl"]);
    add("fsw".into(), span(FPU_STATUS, 2), true, &["fstat"]);
    for i in 0..8u16 {
        add(format!("k{i}"), span(MASKS + 8 * i, 8), false, &[]);
    }
    for i in 0..8u16 {
        add(format!("st{i}"), span(X87 + 16 * i, 10), false, &[&format!("st({i})")]);
    }
    for i in 0..if wide { 32 } else { 8 } {
        add(format!("zmm{i}"), span(VECTORS + 64 * i, 64), false, &[]);
    }
    for i in 0..16u16 {
        add(format!("cr{i}"), span(CONTROL_REGISTERS + 8 * i, word), true, &[]);
    }
    for register in Iced::values() {
        if let Some(bytes) = bytes_of(register).filter(|b| file.at(b.offset).is_some()) {
            let name = format!("{register:?}").to_ascii_lowercase();
            if bytes.offset + bytes.size
                <= file.at(bytes.offset).map_or(0, |r| r.span.offset + r.span.size)
            {
                file.names.entry(name).or_insert(bytes);
            }
        }
    }
    for i in 8..count as u16 {
        file.names.insert(format!("r{i}b"), span(8 * i, 1));
    }
    file.sp = Some(span(8 * 4, word));
    file.pc = Some(span(RIP, word));
    file
}

/// The bytes of a register as named by iced; None for those that we do not keep.
fn bytes_of(register: Iced) -> Option<RegSpan> {
    let number = register.number() as u16;
    let size = register.size() as u16;
    Some(match register {
        Iced::None => return None,
        Iced::AH | Iced::CH | Iced::DH | Iced::BH => span(8 * (number - 4) + 1, 1),
        // iced numbers the 8-bit registers al..bl, ah..bh, spl..dil, r8b..
        _ if register.is_gpr8() && number >= 8 => span(8 * (number - 4), 1),
        _ if register.is_gpr() => span(8 * number, size),
        _ if register.is_ip() => span(RIP, size),
        _ if register.is_segment_register() => span(SELECTORS + 2 * number, 2),
        _ if register.is_k() => span(MASKS + 8 * number, 8),
        _ if register.is_st() => span(X87 + 16 * number, 10),
        _ if register.is_mm() => span(X87 + 16 * number, 8),
        _ if register.is_vector_register() => span(VECTORS + 64 * number, size),
        _ if register.is_cr() => span(CONTROL_REGISTERS + 8 * number, 8),
        _ => return None,
    })
}

fn reads(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::NoMemAccess | OpAccess::Write)
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Decoder of x86-64 or 32-bit x86 code.
pub struct X86 {
    isa: Isa,
    factory: InstructionInfoFactory,
    formatter: GasFormatter,
}

impl X86 {
    pub fn new(isa: Isa) -> X86 {
        let mut formatter = GasFormatter::new();
        let options = formatter.options_mut();
        options.set_rip_relative_addresses(true);
        options.set_branch_leading_zeros(false);
        options.set_space_after_operand_separator(false);
        X86 { isa, factory: InstructionInfoFactory::new(), formatter }
    }
}

impl Decoder for X86 {
    fn isa(&self) -> Isa {
        self.isa
    }

    fn decode(&mut self, address: u64, bytes: &[u8], _thumb: bool) -> Option<Decoded> {
        let bits = if self.isa == Isa::X86 { 32 } else { 64 };
        let bytes = &bytes[..bytes.len().min(15)];
        let instruction = IcedDecoder::with_ip(bits, bytes, address, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return None;
        }
        let mut text = String::new();
        self.formatter.format(&instruction, &mut text);
        let info = self.factory.info(&instruction);
        let view = View {
            i: &instruction,
            info,
            wide: self.isa == Isa::X86_64,
            name: name_of(&instruction),
        };
        let flow = view.flow();
        let (reads, writes) = view.registers(flow);
        let memory = view.memory(flow.kind, &reads, &writes);
        let (reads, writes) = (view.accesses(reads), view.accesses(writes));
        Some(Decoded {
            text,
            size: instruction.len() as u8,
            flow,
            reads,
            writes,
            memory,
            condition: None,
            success: None,
        })
    }
}

/// One instruction with what iced says of it.
struct View<'a> {
    i: &'a Instruction,
    info: &'a InstructionInfo,
    wide: bool,
    /// Mnemonic in iced's spelling, without the V of the VEX and EVEX forms.
    name: String,
}

fn name_of(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic());
    match name.strip_prefix('V') {
        Some(rest) if instruction.encoding() != EncodingKind::Legacy => {
            let (first, others) = rest.split_at(rest.len().min(1));
            first.to_ascii_uppercase() + others
        }
        _ => name,
    }
}

impl View<'_> {
    fn word(&self) -> u16 {
        if self.wide { 8 } else { 4 }
    }

    fn repeats(&self) -> bool {
        self.i.is_string_instruction() && (self.i.has_rep_prefix() || self.i.has_repne_prefix())
    }

    fn flow(&self) -> Flow {
        use Mnemonic::*;
        let direct = matches!(
            self.i.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
        .then(|| self.i.near_branch_target());
        let plain = |kind| Flow { kind, target: None, conditional: false, repeats: false };
        match self.i.mnemonic() {
            Syscall | Sysenter => return plain(FlowKind::Syscall),
            Hlt => return plain(FlowKind::Trap),
            Iret | Iretd | Iretq | Sysret | Sysretq | Sysexit | Sysexitq | Uiret | Rsm => {
                return plain(FlowKind::ExceptionReturn);
            }
            Xbegin => {
                return Flow {
                    kind: FlowKind::Jump,
                    target: direct,
                    conditional: true,
                    repeats: false,
                };
            }
            Xabort | Xend => return plain(FlowKind::Next),
            _ => {}
        }
        match self.i.flow_control() {
            FlowControl::Next | FlowControl::XbeginXabortXend => {
                Flow { repeats: self.repeats(), ..plain(FlowKind::Next) }
            }
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                Flow { target: direct, ..plain(FlowKind::Jump) }
            }
            FlowControl::ConditionalBranch => {
                Flow { target: direct, conditional: true, ..plain(FlowKind::Jump) }
            }
            FlowControl::Return => plain(FlowKind::Return),
            // iced counts the hypervisor's entries among the calls.
            FlowControl::Call if !self.name.starts_with("Call") => plain(FlowKind::Next),
            FlowControl::Call | FlowControl::IndirectCall => {
                Flow { target: direct, ..plain(FlowKind::Call) }
            }
            FlowControl::Interrupt if self.i.mnemonic() == Int && self.i.immediate8() == 0x80 => {
                plain(FlowKind::Syscall)
            }
            FlowControl::Interrupt | FlowControl::Exception => plain(FlowKind::Trap),
        }
    }

    /// Instructions whose result does not depend on the registers that they name twice.
    fn zeroing(&self) -> bool {
        if self.i.has_op_mask() {
            return false;
        }
        let name = self.name.as_str();
        let vector = name.starts_with("Pxor")
            || matches!(
                name,
                "Xorps" | "Xorpd" | "Andnps" | "Andnpd" | "Kxorb" | "Kxorw" | "Kxord" | "Kxorq"
            )
            || matches!(name, "Kxnorb" | "Kxnorw" | "Kxnord" | "Kxnorq")
            || (name.starts_with("Psub")
                || name.starts_with("Pcmpgt")
                || name.starts_with("Pcmpeq")
                || name.starts_with("Pandn"));
        if name.starts_with("Pternlog") {
            return matches!(self.i.immediate8(), 0 | 0xff);
        }
        let general = matches!(self.i.mnemonic(), Mnemonic::Xor | Mnemonic::Sub);
        if !vector && !general {
            return false;
        }
        let sources = if self.i.op_count() == 3 { [1, 2] } else { [0, 1] };
        // Comparisons into a mask have the mask as operand 0.
        sources.iter().all(|&s| self.i.op_kind(s) == OpKind::Register)
            && self.i.op_register(sources[0]) == self.i.op_register(sources[1])
    }

    /// Bytes read and written of operand `op`, a vector register, where they are not the whole
    /// register.
    fn vector_spans(&self, op: u32) -> (Option<RegSpan>, Option<RegSpan>) {
        let whole = bytes_of(self.i.op_register(op));
        let Some(full) = whole else { return (None, None) };
        let legacy = self.i.encoding() == EncodingKind::Legacy;
        let name = self.name.as_str();
        let part = |at: u16, size: u16| {
            Some(span(full.offset + at.min(full.size - size.min(full.size)), size.min(full.size)))
        };
        let is_register = |n: u32| n < self.i.op_count() && self.i.op_kind(n) == OpKind::Register;
        let memory = self.i.memory_size().size() as u16;
        let element = |letter: Option<char>| match letter {
            Some('b') => 1,
            Some('w') => 2,
            Some('d') => 4,
            _ => 8,
        };
        let lane = |size: u16| u16::from(self.i.immediate8()) % (16 / size) * size;
        match name {
            "Movhps" | "Movhpd" if op == 0 && legacy => return (None, part(8, 8)),
            "Movhps" | "Movhpd" if self.i.op0_kind() == OpKind::Memory => {
                return (part(8, 8), whole);
            }
            "Movlps" | "Movlpd" if op == 0 && legacy => return (None, part(0, 8)),
            "Movhlps" if legacy => {
                return if op == 0 { (None, part(0, 8)) } else { (part(8, 8), None) };
            }
            "Movlhps" if legacy => {
                return if op == 0 { (None, part(8, 8)) } else { (part(0, 8), None) };
            }
            _ => {}
        }
        if name.starts_with("Pinsr") && legacy && op == 0 && full.size == 16 {
            let size = element(name.chars().last());
            return (None, part(lane(size), size));
        }
        if name.starts_with("Pextr") && full.size == 16 {
            let size = element(name.chars().last());
            return (part(lane(size), size), whole);
        }
        let scalar = (name.ends_with("ss") || name.ends_with("sd")) && matches!(memory, 4 | 8);
        if legacy && op == 0 && scalar && (is_register(1) || !matches!(name, "Movss" | "Movsd")) {
            let size = match name {
                "Cvtsi2ss" | "Cvtsd2ss" => 4,
                "Cvtsi2sd" | "Cvtss2sd" => 8,
                _ => memory,
            };
            let unary = name.starts_with("Cvt")
                || matches!(
                    name,
                    "Movss"
                        | "Movsd"
                        | "Sqrtss"
                        | "Sqrtsd"
                        | "Rcpss"
                        | "Rsqrtss"
                        | "Roundss"
                        | "Roundsd"
                );
            return (if unary { None } else { part(0, size) }, part(0, size));
        }
        if matches!(name, "Comiss" | "Comisd" | "Ucomiss" | "Ucomisd") {
            return (part(0, memory), whole);
        }
        // The operand that could be in memory is the last one; these store a part of it that is not
        // the low one, or narrow it.
        let stores = [
            "Extract",
            "Pextr",
            "Insertps",
            "Cvtps2ph",
            "Pmov",
            "Pcompress",
            "Compress",
            "Maskmov",
            "Pmaskmov",
        ];
        let narrowing = stores.iter().any(|s| name.starts_with(s))
            && !name.starts_with("Pmovzx")
            && !name.starts_with("Pmovsx");
        let last = (0..self.i.op_count())
            .rev()
            .find(|&n| !matches!(self.i.op_kind(n), OpKind::Immediate8 | OpKind::Immediate8_2nd));
        let source = (1..self.i.op_count()).all(|n| self.i.op_kind(n) != OpKind::Memory);
        if last == Some(op)
            && op > 0
            && source
            && memory > 0
            && memory < full.size
            && !narrowing
            && !self.i.has_op_mask()
        {
            return (part(0, memory), whole);
        }
        (whole, whole)
    }

    /// Bytes of a register that iced lists as used.
    fn used_bytes(&self, register: Iced, is_write: bool, out: &mut Vec<RegSpan>) {
        let Some(mut bytes) = bytes_of(register) else { return };
        if register.is_segment_register() {
            // Flat segments: only FS and GS have a base, and the selectors matter only where the
            // instruction names them.
            let named = (0..self.i.op_count()).any(|n| {
                self.i.op_kind(n) == OpKind::Register && self.i.op_register(n) == register
            });
            let base = match register {
                Iced::FS => Some(span(FS_BASE, self.word())),
                Iced::GS => Some(span(GS_BASE, self.word())),
                _ => None,
            };
            if named {
                out.push(bytes);
            }
            if !named || is_write {
                out.extend(base);
            }
            return;
        }
        if register.is_st() && is_write {
            // iced names it before the push or pop.
            let after = register.number() as i32 - self.i.fpu_stack_increment_info().increment();
            if !(0..8).contains(&after) {
                return;
            }
            bytes.offset = X87 + 16 * after as u16;
        }
        if register.is_cr() && !self.wide {
            bytes.size = 4;
        }
        out.push(bytes);
    }

    /// Registers read and written, disjoint and sorted.
    fn registers(&self, flow: Flow) -> (Vec<RegSpan>, Vec<RegSpan>) {
        let (mut r, mut w) = (Vec::new(), Vec::new());
        if matches!(
            self.i.mnemonic(),
            Mnemonic::Nop | Mnemonic::Reservednop | Mnemonic::Endbr32 | Mnemonic::Endbr64
        ) {
            return (r, w);
        }
        let legacy = self.i.encoding() == EncodingKind::Legacy;
        let mut operands = [Iced::None; 5];
        for op in 0..self.i.op_count() {
            if self.i.op_kind(op) != OpKind::Register
                || !self.i.op_register(op).is_vector_register()
            {
                continue;
            }
            let register = self.i.op_register(op).full_register();
            operands[op as usize] = register;
            let access = self.info.op_access(op);
            let (read, write) = self.vector_spans(op);
            if reads(access) || access == OpAccess::CondWrite {
                r.extend(read);
            }
            if writes(access) {
                w.extend(if legacy { write } else { bytes_of(register) });
            }
        }
        // A bit scan's destination is undefined, not kept, if there is no bit: its old value is no
        // input.
        let scan = matches!(self.i.mnemonic(), Mnemonic::Bsf | Mnemonic::Bsr);
        for (n, used) in self.info.used_registers().iter().enumerate() {
            let (register, access) = (used.register(), used.access());
            if register.is_vector_register() && operands.contains(&register.full_register()) {
                continue;
            }
            if (reads(access) || access == OpAccess::CondWrite) && !(scan && n == 0) {
                self.used_bytes(register, false, &mut r);
            }
            if writes(access) {
                self.used_bytes(register, true, &mut w);
            }
        }
        if self.zeroing() {
            r.clear();
        }
        let word = self.word();
        if flow.kind == FlowKind::Syscall {
            r.push(span(0, word));
            w.push(span(0, word));
        }
        // iced counts the condition codes of the x87 among the flags.
        const X87_CODES: u32 = RflagsBits::C0 | RflagsBits::C1 | RflagsBits::C2 | RflagsBits::C3;
        for (bits, list) in [(self.i.rflags_read(), &mut r), (self.i.rflags_modified(), &mut w)] {
            if bits & !X87_CODES != 0 {
                list.push(span(FLAGS, word));
            }
            if bits & X87_CODES != 0 {
                list.push(span(FPU_STATUS, 2));
            }
        }
        if self.i.fpu_stack_increment_info().increment() < 0
            && self.info.used_registers().iter().all(|u| !u.register().is_mm())
        {
            w.push(span(X87, 10));
        }
        if self.i.is_ip_rel_memory_operand() {
            r.push(span(RIP, word));
        }
        if flow.kind.returns() || matches!(flow.kind, FlowKind::Jump | FlowKind::Call) {
            w.push(span(RIP, word));
        }
        match self.i.mnemonic() {
            Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr => w.push(span(MXCSR, 4)),
            Mnemonic::Stmxcsr | Mnemonic::Vstmxcsr => r.push(span(MXCSR, 4)),
            Mnemonic::Fldcw => w.push(span(FPU_CONTROL, 2)),
            Mnemonic::Fnstcw | Mnemonic::Fstcw => r.push(span(FPU_CONTROL, 2)),
            Mnemonic::Fnstsw | Mnemonic::Fstsw => r.push(span(FPU_STATUS, 2)),
            _ => {}
        }
        (merged(r), merged(w))
    }

    fn accesses(&self, spans: Vec<RegSpan>) -> Vec<RegAccess> {
        let file = registers(if self.wide { Isa::X86_64 } else { Isa::X86 });
        let control = |s: RegSpan| file.at(s.offset).is_some_and(|r| r.control);
        spans.into_iter().map(|span| RegAccess { span, control: control(span) }).collect()
    }

    fn address(&self, m: &UsedMemory) -> Expr {
        if m.index().is_vector_register() {
            return Expr::Unknown;
        }
        let bits = match m.address_size() {
            CodeSize::Code16 => 16,
            CodeSize::Code32 => 32,
            _ => 64,
        };
        let truncated =
            |e: Expr, bits: u8| if bits == 64 { e } else { Expr::Extend(false, bits, Box::new(e)) };
        let register = |r: Iced| match bytes_of(r) {
            Some(bytes) => Expr::Reg(bytes),
            None => Expr::Const(0),
        };
        let index = match (m.index(), m.scale()) {
            (Iced::None, _) => Expr::Const(0),
            (index, 1) => register(index),
            (index, scale) => {
                Expr::Bin(Op::Mul, Box::new(register(index)), Box::new(Expr::Const(scale.into())))
            }
        };
        let mut sum = register(m.base()).add(index).add(Expr::Const(m.displacement()));
        if let Some(shift) = self.bit_string() {
            let bytes = self.i.memory_size().size() as u64;
            let number = self.i.op1_register();
            let signed = Expr::Extend(true, number.size() as u8 * 8, Box::new(register(number)));
            let byte = Expr::Bin(Op::Sar, Box::new(signed), Box::new(Expr::Const(shift)));
            sum = sum.add(Expr::Bin(Op::Mul, Box::new(byte), Box::new(Expr::Const(bytes))));
        }
        let offset =
            if matches!(sum, Expr::Const(_)) && bits == 64 { sum } else { truncated(sum, bits) };
        let base = match m.segment() {
            Iced::FS => span(FS_BASE, self.word()),
            Iced::GS => span(GS_BASE, self.word()),
            _ => return offset,
        };
        truncated(offset.add(Expr::Reg(base)), if self.wide { 64 } else { 32 })
    }

    /// For a bit test in memory with its bit number in a register: log2 of the bits of the word
    /// that is addressed.
    fn bit_string(&self) -> Option<u64> {
        let test = matches!(
            self.i.mnemonic(),
            Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
        );
        (test && self.i.op0_kind() == OpKind::Memory && self.i.op1_kind() == OpKind::Register)
            .then(|| u64::from((self.i.memory_size().size() as u32 * 8).trailing_zeros()))
    }

    /// Whether a mask decides which bytes of memory are touched.
    fn masked(&self) -> bool {
        self.i.has_op_mask()
            || self.name.starts_with("Maskmov")
            || self.name.starts_with("Pmaskmov")
    }

    fn memory(
        &self,
        flow: FlowKind,
        register_reads: &[RegSpan],
        register_writes: &[RegSpan],
    ) -> Vec<MemOperand> {
        if ["Prefetch", "Gatherpf", "Scatterpf"].iter().any(|p| self.name.starts_with(p)) {
            return Vec::new();
        }
        let repeats = self.repeats();
        let counter = self.info.used_registers().iter().find(|u| {
            matches!(u.register(), Iced::CX | Iced::ECX | Iced::RCX)
                && matches!(u.access(), OpAccess::ReadCondWrite | OpAccess::ReadWrite)
        });
        let guard = if repeats {
            counter.and_then(|u| bytes_of(u.register())).map(Expr::Reg)
        } else {
            None
        };
        let mut operands = Vec::new();
        for is_write in [false, true] {
            for m in self.info.used_memory() {
                let touches = if is_write {
                    writes(m.access())
                } else {
                    reads(m.access()) && m.access() != OpAccess::CondWrite
                };
                if !touches {
                    continue;
                }
                let size = if self.masked() || m.index().is_vector_register() {
                    0
                } else if repeats {
                    self.i.memory_size().size()
                } else {
                    m.memory_size().size()
                };
                let implicit = matches!(self.i.mnemonic(), Mnemonic::Leave | Mnemonic::Enter);
                operands.push(MemOperand {
                    is_write,
                    size: size as u32,
                    address: self.address(m),
                    guard: guard.clone(),
                    stack_relative: implicit
                        || matches!(m.base(), Iced::RSP | Iced::ESP | Iced::SP),
                    control: false,
                    data_register: None,
                });
            }
        }
        if matches!(self.name.as_str(), "Cmpsb" | "Cmpsw" | "Cmpsd" | "Cmpsq")
            && operands.len() == 2
        {
            // QEMU and valgrind read (rdi) first; the processor does not say.
            operands.swap(0, 1);
        }
        if flow == FlowKind::Return
            && let Some(first) = operands.first_mut()
        {
            first.control = true;
        }
        // Program counter, selectors, flags and stack pointer: all of the frame.
        if flow == FlowKind::ExceptionReturn {
            operands.iter_mut().for_each(|o| o.control = true);
        }
        if let [operand] = operands.as_mut_slice() {
            operand.data_register = self.data_register(operand, register_reads, register_writes);
        }
        operands
    }

    /// The register that a plain move stores or loads.
    fn data_register(
        &self,
        operand: &MemOperand,
        reads: &[RegSpan],
        writes: &[RegSpan],
    ) -> Option<RegSpan> {
        let name = self.name.as_str();
        let size = u16::try_from(operand.size).ok()?;
        let register = match self.i.mnemonic() {
            Mnemonic::Leave => Iced::RBP,
            Mnemonic::Push | Mnemonic::Pop if self.i.op0_kind() == OpKind::Register => {
                self.i.op0_register()
            }
            Mnemonic::Movsd if self.i.is_string_instruction() => return None,
            _ => {
                let plain = matches!(
                    name,
                    "Mov" | "Movd" | "Movq" | "Movss" | "Movsd" | "Lddqu" | "Movnti"
                ) || ["Mova", "Movu", "Movl", "Movh", "Movdq", "Movnt", "Kmov"]
                    .iter()
                    .any(|p| name.starts_with(p));
                if !plain || self.i.op_count() != 2 || self.i.has_op_mask() {
                    return None;
                }
                let op = if operand.is_write { 1 } else { 0 };
                if self.i.op_kind(op) != OpKind::Register {
                    return None;
                }
                self.i.op_register(op)
            }
        };
        if register.is_segment_register()
            || register.is_cr()
            || register.is_dr()
            || register.is_mm() && operand.size != 8
        {
            return None;
        }
        let full = bytes_of(register.full_register())?;
        let within = |s: &&RegSpan| s.offset >= full.offset && s.offset < full.offset + full.size;
        let mut touched = if operand.is_write { reads } else { writes }.iter().filter(within);
        let bytes = *touched.next()?;
        let stack_pointer = full.offset == 8 * 4;
        // A 32-bit `leave` in 64-bit code does not exist; everything else must move exactly the
        // operand's bytes.
        let alone = touched.next().is_none() && bytes.size == size && !stack_pointer;
        (alone && (self.i.mnemonic() == Mnemonic::Leave || !operand.address.reads(full)))
            .then_some(bytes)
    }
}

/// Sorted, overlapping spans joined. Spans that only touch stay apart: they may belong to different
/// registers.
fn merged(mut spans: Vec<RegSpan>) -> Vec<RegSpan> {
    spans.sort_unstable();
    let mut out: Vec<RegSpan> = Vec::with_capacity(spans.len());
    for next in spans {
        match out.last_mut() {
            Some(last) if next.offset < last.offset + last.size => {
                last.size = last.size.max(next.offset + next.size - last.offset);
            }
            _ => out.push(next),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
        format!("{} | {} -> {} | {memory}", d.text, names(isa, &d.reads), names(isa, &d.writes))
    }

    #[test]
    fn registers_and_memory_of_instructions() {
        let cases: &[(&[u8], &str)] = &[
            (&[0x31, 0xc0], "xor %eax,%eax |  -> rax [rflags] | "),
            (&[0x29, 0xc9], "sub %ecx,%ecx |  -> rcx [rflags] | "),
            (&[0x19, 0xc0], "sbb %eax,%eax | rax:4 [rflags] -> rax [rflags] | "),
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
            (&[0x66, 0x0f, 0x6c, 0xc1], "punpcklqdq %xmm1,%xmm0 | zmm0:16 zmm1:16 -> zmm0:16 | "),
            (&[0x48, 0x0f, 0x44, 0xc3], "cmove %rbx,%rax | rax rbx [rflags] -> rax | "),
            (&[0x0f, 0x44, 0x03], "cmove (%rbx),%eax | rax:4 rbx [rflags] -> rax | L4"),
            (&[0x0f, 0xbc, 0xc3], "bsf %ebx,%eax | rbx:4 -> rax [rflags] | "),
            (&[0x0f, 0x1f, 0x44, 0, 0], "nopl (%rax,%rax) |  -> | "),
            (&[0x48, 0x8d, 0x05, 1, 0, 0, 0], "lea 1(%rip),%rax | [rip] -> rax | "),
            (
                &[0xf3, 0xa4],
                "rep movsb (%rsi),(%rdi) | rcx rsi rdi [rflags] -> rcx rsi rdi | L1 guarded, S1 guarded",
            ),
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
            (&[0x0f, 0x05], "syscall | rax [rflags] -> rax rcx r11 [rflags] | "),
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
                "vpgatherdd %ymm2,(%rax,%ymm1,4),%ymm0 | rax zmm0:32 zmm1:32 zmm2:32 -> zmm0 zmm2 | L0",
            ),
            (&[0xdb, 0x28], "fldt (%rax) | rax -> [fsw] st0 | L10"),
            (&[0xdb, 0x38], "fstpt (%rax) | rax st0 -> [fsw] | S10"),
        ];
        let mut wrong = Vec::new();
        for (bytes, expected) in cases {
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

    #[test]
    fn exception_returns_are_told_from_returns() {
        let kind =
            |isa, bytes: &[u8]| X86::new(isa).decode(0x1000, bytes, false).unwrap().flow.kind;
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
        let mut at = |bytes: &[u8]| {
            decoder.decode(0x1000, bytes, false).unwrap().memory[0].address.eval(&value)
        };
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
            assert!(
                file.all.windows(2).all(|w| w[0].span.offset + w[0].span.size <= w[1].span.offset)
            );
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

    /// Bytes of a static ELF at an address.
    fn elf_code(path: &std::path::Path) -> impl Fn(u64) -> Option<Vec<u8>> + use<> {
        let bytes = std::fs::read(path).unwrap();
        let segments: Vec<(u64, Vec<u8>)> = goblin::elf::Elf::parse(&bytes)
            .unwrap()
            .program_headers
            .iter()
            .filter(|h| h.p_type == goblin::elf::program_header::PT_LOAD)
            .map(|h| (h.p_vaddr, bytes[h.file_range()].to_vec()))
            .collect();
        move |address| {
            let (start, data) =
                segments.iter().find(|(s, d)| (*s..*s + d.len() as u64).contains(&address))?;
            let at = (address - start) as usize;
            Some(data[at..data.len().min(at + 16)].to_vec())
        }
    }

    const PROGRAM: &str = r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <math.h>
        struct point { double x, y; char name[24]; };
        static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
        static double norm(struct point p) { return sqrt(p.x * p.x + p.y * p.y); }
        static long double mix(long double a, long double b) { return a * b + a / b; }
        int main(int argc, char **argv) {
            int v[40]; char s[200], t[200]; unsigned long long acc = 0; _Atomic int lock = 0;
            for (int i = 0; i < 40; i++) v[i] = (i * 7919) % 101;
            qsort(v, 40, sizeof *v, cmp);
            memset(s, 'a', 150); s[150] = 0; memcpy(t, s, 151); strcat(t, "tail");
            acc += strlen(t) + strcmp(s, t) + (memchr(t, 'l', 160) != 0) + (strstr(t, "tai") - t);
            struct point p = {3 + argc, 4, "abc"}; struct point *q = malloc(sizeof p); *q = p;
            acc += (unsigned long long)(norm(*q) + mix(acc, 3.5L) + strtod("12.75e1", 0));
            lock += 3; __atomic_fetch_add(&lock, 2, __ATOMIC_SEQ_CST); __atomic_exchange_n(&lock, 4, __ATOMIC_SEQ_CST);
            float f = 1.5f; for (int i = 1; i < 20; i++) { f = f * i / (i + 0.5f); acc ^= (unsigned)f; acc = acc * 31 + (acc >> 60); }
            __asm__ volatile("mov %1,%%rdi; lea 20(%1),%%rsi; mov $33,%%ecx; rep movsb; mov %1,%%rdi; mov $4,%%ecx; rep stosq;"
                "mov %1,%%rdi; mov %2,%%rsi; mov $9,%%ecx; repe cmpsb; push %%rax; popq 8(%1); pushq 8(%1); pop %%rax; mov $70,%%eax; bts %%rax,(%1)"
                : "+m"(acc) : "r"(s), "r"(t) : "rdi", "rsi", "rcx", "rax", "memory", "cc");
            printf("%llu %d %.3f %s\n", acc, (int)lock, (double)f, t + 140);
            return 0;
        }
    "#;

    /// The accesses of a line of lackey's log.
    fn lackey_accesses(line: &str) -> Vec<(bool, u32)> {
        let size = line.rsplit(',').next().and_then(|s| s.parse().ok()).unwrap_or(0);
        match line.as_bytes()[1] {
            b'L' => vec![(false, size)],
            b'S' => vec![(true, size)],
            b'M' => vec![(false, size), (true, size)],
            _ => Vec::new(),
        }
    }

    /// What the decoder says against what valgrind saw, step by step, with the differences that are
    /// valgrind's own taken out.
    #[test]
    fn memory_agrees_with_valgrind() {
        let have = |tool: &str| {
            std::process::Command::new(tool)
                .arg("--version")
                .output()
                .is_ok_and(|o| o.status.success())
        };
        if !have("gcc") || !have("valgrind") {
            eprintln!("skipped: needs gcc and valgrind");
            return;
        }
        let dir = std::env::temp_dir().join(format!("addfg-x86-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("p.c"), PROGRAM).unwrap();
        let (mut steps, mut differences) = (0u64, std::collections::BTreeMap::<String, u64>::new());
        for level in [&["-O0"][..], &["-O2"], &["-O3", "-mavx2", "-mfma"]] {
            let run = |program: &str, args: &[&str]| {
                std::process::Command::new(program)
                    .args(args)
                    .current_dir(&dir)
                    .output()
                    .is_ok_and(|o| o.status.success())
            };
            if !run("gcc", &[level, &["-static", "-no-pie", "p.c", "-o", "p", "-lm"]].concat()) {
                eprintln!("skipped: gcc cannot link a static program here");
                return;
            }
            let trace = [
                "--vex-guest-chase=no",
                "--tool=lackey",
                "--trace-mem=yes",
                "--log-file=p.log",
                "./p",
            ];
            if !run("valgrind", &trace) {
                eprintln!("skipped: valgrind cannot run a program made with {level:?}");
                continue;
            }
            let code = elf_code(&dir.join("p"));
            let log = std::fs::read_to_string(dir.join("p.log")).unwrap();
            let mut decoder = X86::new(Isa::X86_64);
            let mut known = std::collections::HashMap::new();
            let mut lines = log.lines().filter(|l| !l.starts_with("==") && l.len() > 3).peekable();
            while let Some(line) = lines.next() {
                if !line.starts_with("I  ") {
                    continue;
                }
                let address =
                    u64::from_str_radix(line[3..].split(',').next().unwrap(), 16).unwrap();
                let mut seen = Vec::new();
                while let Some(data) = lines.next_if(|l| !l.starts_with("I  ")) {
                    seen.extend(lackey_accesses(data));
                }
                let d = known.entry(address).or_insert_with(|| {
                    code(address).and_then(|b| decoder.decode(address, &b, false))
                });
                let Some(d) = d else { continue };
                steps += 1;
                let guarded = d.memory.iter().any(|m| m.guard.is_some());
                let expected: Vec<(bool, u32)> =
                    d.memory.iter().map(|m| (m.is_write, m.size)).collect();
                if expected == seen || guarded && seen.is_empty() {
                    continue;
                }
                let kind = if d.text.starts_with("bt") {
                    "bit tests go through single bytes"
                } else if seen.len() == 3 && seen[1..] == expected {
                    "locked: one load more"
                } else if matches!(expected[..], [(false, _)]) && seen.is_empty() {
                    "load of a value that nobody uses is optimised away"
                } else {
                    "?"
                };
                let mnemonic = d.text.split(' ').next().unwrap();
                *differences
                    .entry(format!("{kind}: {mnemonic} {expected:?} valgrind {seen:?}"))
                    .or_default() += 1;
            }
        }
        let _ = std::fs::remove_dir_all(&dir);
        let total: u64 = differences.values().sum();
        eprintln!("{steps} steps, {total} differ: {differences:#?}");
        assert!(steps == 0 || steps > 100_000);
        assert!(!differences.keys().any(|k| k.starts_with('?')));
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
                        list.windows(2)
                            .all(|w| w[0].span.offset + w[0].span.size <= w[1].span.offset),
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
}
