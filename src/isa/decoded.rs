//! What the decoders say of an instruction.

use super::expr::Expr;
use crate::event::{Isa, RegSpan};
pub use crate::registers::RegAccess;

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

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlFlow {
    pub kind: FlowKind,
    /// Target of a direct transfer (without the Thumb bit); None if indirect.
    pub target: Option<u64>,
    /// May fall through to the next address instead.
    pub conditional: bool,
    /// A repeated string instruction, which may be followed by itself.
    pub repeats: bool,
}

impl ControlFlow {
    /// To nowhere in particular, always, once.
    pub const fn plain(kind: FlowKind) -> ControlFlow {
        ControlFlow { kind, target: None, conditional: false, repeats: false }
    }
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

impl MemOperand {
    /// An access that always happens and is nothing but data.
    pub fn plain(is_write: bool, size: u32, address: Expr) -> MemOperand {
        MemOperand {
            is_write,
            size,
            address,
            guard: None,
            stack_relative: false,
            control: false,
            data_register: None,
        }
    }
}

/// What an instruction does with the bytes that its only load loads, if it leaves them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Stores them, by its only store.
    ToMemory,
    /// Puts them into this part of a register, lowest byte first. What it writes of the register beyond
    /// that is zeros or the sign.
    ToRegister(RegSpan),
}

/// What the decoder says of one distinct instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub text: String,
    /// In bytes.
    pub size: u8,
    pub flow: ControlFlow,
    /// Register reads and writes when executed; disjoint spans, sorted; a write of a sub-register
    /// that zero-extends has the full span.
    pub reads: Vec<RegAccess>,
    pub writes: Vec<RegAccess>,
    /// Reads before writes, in the order in which the instruction makes them.
    pub memory: Vec<MemOperand>,
    /// None where it changes the bytes, multiplies them, or loads several times.
    pub moved: Option<Moved>,
    /// Executed only if this is not 0 (ARM conditions, IT blocks); None: always.
    pub condition: Option<Expr>,
    /// Where it transfers control to, if that is computed from registers alone (with the Thumb bit).
    pub destination: Option<Expr>,
    /// A store-conditional: it stored only if this register holds this value *after* the
    /// instruction.
    pub success: Option<(RegSpan, u64)>,
    /// The address that it leaves in the link register, if that depends on nothing but where it stands.
    pub link: Option<u64>,
    /// What of it the decoder knows that it does not know.
    pub unmodelled: Option<Unmodelled>,
    /// It renames registers, as a push of the x87 does, and what follows is decoded as if it did not.
    pub renames: bool,
}

/// What of an instruction's effects the decoder does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmodelled {
    /// Its memory accesses; else only registers.
    pub memory: bool,
    /// How to record without such instructions.
    pub remedy: &'static str,
}

impl Decoded {
    /// An instruction about which nothing is known but its size.
    pub fn unknown(size: u8) -> Decoded {
        Decoded {
            text: String::new(),
            size,
            flow: ControlFlow { conditional: true, ..ControlFlow::plain(FlowKind::Unknown) },
            reads: Vec::new(),
            writes: Vec::new(),
            memory: Vec::new(),
            moved: None,
            condition: None,
            destination: None,
            success: None,
            link: None,
            unmodelled: None,
            renames: false,
        }
    }
}

/// Decoder of one instruction set. Not `Send`: it stays in the thread that made it.
pub trait Decoder {
    fn isa(&self) -> Isa;
    /// Decodes one instruction; `bytes` in memory order, possibly more than the instruction needs.
    fn decode(&mut self, address: u64, bytes: &[u8], thumb: bool) -> Option<Decoded>;
}
