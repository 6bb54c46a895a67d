//! From an instruction to the registers and memory it touches. Disassembler libraries do the
//! decoding, once per distinct instruction: [`x86`] with iced-x86, [`pcode`] with SLEIGH.

use crate::event::{Isa, RegSpan};

pub mod elaborate;
pub mod expr;
pub mod kernel_helper;
pub mod pcode;
pub mod x86;

/// What an instruction does to control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowKind {
    /// Goes on with the next address.
    Next,
    Jump,
    Call,
    Return,
    /// Goes back to what an exception, an interrupt or a system call interrupted: `eret`, `mret`,
    /// `iret`, `rfe`, `subs pc, lr, #4`. Cortex-M's return by a value in the link register
    /// (EXC_RETURN) is a [`FlowKind::Return`]: the instruction is that of any return.
    ExceptionReturn,
    /// Enters the kernel and goes on with the next address.
    Syscall,
    /// Traps, halts: what follows is not said.
    Trap,
    /// Not decoded: anything may follow.
    Unknown,
}

impl FlowKind {
    /// Whether the instruction goes back to where control came from.
    pub fn returns(self) -> bool {
        matches!(self, FlowKind::Return | FlowKind::ExceptionReturn)
    }

    /// The word in `instruction.class`.
    pub fn name(self) -> &'static str {
        match self {
            FlowKind::Next => "next",
            FlowKind::Jump => "jump",
            FlowKind::Call => "call",
            FlowKind::Return => "return",
            FlowKind::ExceptionReturn => "exception_return",
            FlowKind::Syscall => "syscall",
            FlowKind::Trap => "trap",
            FlowKind::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub kind: FlowKind,
    /// Target of a direct transfer (without the Thumb bit); None if indirect.
    pub target: Option<u64>,
    /// May fall through to the next address instead.
    pub conditional: bool,
    /// A repeated string instruction, which may be followed by itself.
    pub repeats: bool,
}

/// A register access; static, because an instruction's registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegAccess {
    pub span: RegSpan,
    /// Not data: program counter, stack pointer, flags, link register read by a return.
    pub control: bool,
}

/// An integer expression over the register values before the instruction (64-bit wrapping
/// arithmetic).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    Const(u64),
    Reg(RegSpan),
    /// Operator and operands; see [`Op`].
    Bin(Op, Box<Expr>, Box<Expr>),
    /// Low `bits` bits of the operand, sign extended (true) or zero extended (false).
    Extend(bool, u8, Box<Expr>),
    /// Not computable from registers.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    /// 1 if equal, else 0; the other comparisons likewise.
    Eq,
    Ne,
    Lt,
    Le,
    Slt,
    Sle,
}

/// A memory access that the instruction makes when executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemOperand {
    pub is_write: bool,
    /// In bytes; 0 if the decoder cannot say (then the log must).
    pub size: u32,
    pub address: Expr,
    /// Happens only if this is not 0 (`rep` with a count, lanes); None: always.
    pub guard: Option<Expr>,
    /// Computed from the stack pointer, or the implicit access of push, pop, call, return.
    pub stack_relative: bool,
    /// The bytes from which a return loads the program counter.
    pub control: bool,
    /// Register whose bytes are stored or loaded unchanged (same size, used for nothing else by the
    /// instruction).
    pub data_register: Option<RegSpan>,
}

/// What the decoder says of one distinct instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub text: String,
    /// In bytes.
    pub size: u8,
    pub flow: Flow,
    /// Register reads and writes when executed; disjoint spans, sorted; a write of a sub-register
    /// that zero-extends has the full span.
    pub reads: Vec<RegAccess>,
    pub writes: Vec<RegAccess>,
    /// Reads before writes, in the order in which the instruction makes them.
    pub memory: Vec<MemOperand>,
    /// Executed only if this is not 0 (ARM conditions, IT blocks); None: always.
    pub condition: Option<Expr>,
    /// A store-conditional: it stored only if this register holds this value *after* the
    /// instruction.
    pub success: Option<(RegSpan, u64)>,
}

impl Decoded {
    /// An instruction about which nothing is known but its size.
    pub fn unknown(size: u8) -> Decoded {
        Decoded {
            text: String::new(),
            size,
            flow: Flow { kind: FlowKind::Unknown, target: None, conditional: true, repeats: false },
            reads: Vec::new(),
            writes: Vec::new(),
            memory: Vec::new(),
            condition: None,
            success: None,
        }
    }
}

/// A full register of an instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    pub name: String,
    pub span: RegSpan,
    /// Program counter, stack pointer, flags.
    pub control: bool,
}

/// Register file of an instruction set: full registers at disjoint offsets, our own numbering, no
/// gaps that matter.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    /// Sorted by offset.
    pub all: Vec<Register>,
    pub sp: Option<RegSpan>,
    pub pc: Option<RegSpan>,
    /// Link register, where the instruction set has one.
    pub link: Option<RegSpan>,
    /// Bytes of the whole file.
    pub size: usize,
    /// Lower-case names that logs use (`r13`, `sp`, `x2`, `w8`, `eax`), sub-registers included.
    pub names: std::collections::HashMap<String, RegSpan>,
}

impl Registers {
    pub fn lookup(&self, name: &str) -> Option<RegSpan> {
        self.names.get(&name.to_ascii_lowercase()).copied()
    }
    /// The full register that holds the byte.
    pub fn at(&self, offset: u16) -> Option<&Register> {
        let after = self.all.partition_point(|r| r.span.offset <= offset);
        let register = &self.all[after.checked_sub(1)?];
        (offset < register.span.offset + register.span.size).then_some(register)
    }
}

/// The register file of `isa`.
pub fn registers(isa: Isa) -> &'static Registers {
    match isa {
        Isa::X86_64 | Isa::X86 => x86::registers(isa),
        _ => pcode::registers(isa),
    }
}

/// Decoder of one instruction set. Not `Send`: it stays in the thread that made it.
pub trait Decoder {
    fn isa(&self) -> Isa;
    /// Decodes one instruction; `bytes` in memory order, possibly more than the instruction needs.
    fn decode(&mut self, address: u64, bytes: &[u8], thumb: bool) -> Option<Decoded>;
}

/// The decoder of `isa`, little-endian code unless `big_endian`.
pub fn decoder(isa: Isa, big_endian: bool) -> Box<dyn Decoder> {
    match isa {
        Isa::X86_64 | Isa::X86 => Box::new(x86::X86::new(isa)),
        _ => Box::new(pcode::Pcode::new(isa, big_endian)),
    }
}
