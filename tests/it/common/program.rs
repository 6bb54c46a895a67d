//! Random runs of random x86-64 programs, as a log and an ELF file: calls, recursion, tails,
//! unwinding, signals, several threads, overlapping accesses. Nothing computes: what a program may
//! do to the call stack and to storage is what matters.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// A small generator (xorshift), so that a seed is a program on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const CODE: u64 = 0x40_1000;
const FUNCTIONS: u64 = 7;
/// The last function is a linker's veneer, so its instances are stubs.
const NAMES: [&str; FUNCTIONS as usize] =
    ["main", "alpha", "beta", "gamma", "delta", "handler", "__beta_veneer"];
const GLOBALS: u64 = 0x60_0000;
/// Where a program's accesses lie beside its stack.
pub const MEMORY: [u64; 2] = [GLOBALS, 0x7f_0fe0];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Repeated,
    Push,
    Pop,
    Call(u64),
    CallRegister,
    Return,
    Jump(u64),
    JumpRegister,
    Branch(u64),
}

#[derive(Clone)]
struct Insn {
    bytes: Vec<u8>,
    kind: Kind,
    /// (write, bytes, relative to the stack pointer by)
    accesses: Vec<(bool, u64, Option<u64>)>,
}

pub struct Access {
    pub is_write: bool,
    pub address: u64,
    pub size: u64,
    /// A return's load: no data.
    pub control: bool,
}

pub struct Step {
    /// From 0.
    pub thread: usize,
    pub pc: u64,
    pub code: Vec<u8>,
    /// The stack pointer behind the step, that of a handler if a signal came.
    pub sp: u64,
    pub accesses: Vec<Access>,
}

pub struct Program {
    /// First address of each function, and the end of the last.
    starts: Vec<u64>,
    code: BTreeMap<u64, Insn>,
}

impl Program {
    pub fn new(random: &mut Random) -> Program {
        Program::of(random, false)
    }

    /// One with second bytes of registers, vectors, extensions and conditional moves, too.
    pub fn wide(random: &mut Random) -> Program {
        Program::of(random, true)
    }

    fn of(random: &mut Random, wide: bool) -> Program {
        let mut bodies: Vec<Vec<Insn>> = Vec::new();
        for _ in 0..FUNCTIONS {
            bodies.push(body(random, wide));
        }
        let mut starts = vec![CODE];
        for body in &bodies {
            let size: u64 = body.iter().map(|i| i.bytes.len() as u64).sum();
            starts.push(starts[starts.len() - 1] + size);
        }
        let mut code = BTreeMap::new();
        for (f, body) in bodies.into_iter().enumerate() {
            let mut at = starts[f];
            let places: Vec<u64> = body
                .iter()
                .scan(at, |a, i| {
                    let here = *a;
                    *a += i.bytes.len() as u64;
                    Some(here)
                })
                .collect();
            for mut insn in body {
                let next = at + insn.bytes.len() as u64;
                match insn.kind {
                    Kind::Call(_) => {
                        // Mostly down the list, so that a run comes back; sometimes to the next
                        // instruction, which is no call.
                        let down = f + 1 + random.below(2) as usize;
                        let target = match random.below(20) {
                            0 => starts[random.below(FUNCTIONS) as usize],
                            3.. if down < FUNCTIONS as usize => starts[down],
                            _ => next,
                        };
                        insn.kind = Kind::Call(target);
                        insn.bytes[1..]
                            .copy_from_slice(&(target.wrapping_sub(next) as u32).to_le_bytes());
                    }
                    Kind::Jump(_) => {
                        let target = starts[random.below(FUNCTIONS) as usize];
                        insn.kind = Kind::Jump(target);
                        insn.bytes[1..]
                            .copy_from_slice(&(target.wrapping_sub(next) as u32).to_le_bytes());
                    }
                    Kind::Branch(_) => {
                        let near: Vec<u64> =
                            places.iter().copied().filter(|p| p.abs_diff(next) < 120).collect();
                        let target = near[random.below(near.len() as u64) as usize];
                        insn.kind = Kind::Branch(target);
                        insn.bytes[1] = target.wrapping_sub(next) as u8;
                    }
                    _ => {}
                }
                code.insert(at, insn);
                at = next;
            }
        }
        Program { starts, code }
    }

    pub fn function(&self, pc: u64) -> &'static str {
        NAMES[self.starts.partition_point(|s| *s <= pc) - 1]
    }

    /// Any instruction of the function that has this one.
    fn inside(&self, pc: u64, random: &mut Random) -> u64 {
        let name = self.function(pc);
        let mut all: Vec<u64> =
            self.code.keys().copied().filter(|pc| self.function(*pc) == name).collect();
        all.sort_unstable();
        all[random.below(all.len() as u64) as usize]
    }

    /// A run of `steps` steps on `threads` threads: the log and what it says.
    pub fn run(&self, random: &mut Random, steps: usize, threads: usize) -> (String, Vec<Step>) {
        let mut log = String::from("# giano 1 isa=x86_64 values=after accesses=yes\n");
        let mut list = Vec::new();
        let mut state: Vec<Thread> =
            (0..threads as u64).map(|t| Thread::new(CODE, 0x7000_0000 + t * 0x10_0000)).collect();
        let mut t = 0;
        for time in 0..steps {
            if random.chance(10) {
                t = random.below(threads as u64) as usize;
            }
            let step = state[t].step(t, self, random);
            giano(&mut log, time, &step);
            list.push(step);
        }
        (log, list)
    }

    /// An ELF file with the functions' code and symbols.
    pub fn elf(&self) -> Vec<u8> {
        let mut strings = vec![0u8];
        let mut symbols = vec![0u8; 24];
        for (f, name) in NAMES.iter().enumerate() {
            let at = strings.len() as u32;
            strings.extend(name.bytes().chain([0]));
            symbols.extend(at.to_le_bytes());
            // A global function of section 1.
            symbols.extend([0x12, 0, 1, 0]);
            symbols.extend(self.starts[f].to_le_bytes());
            symbols.extend((self.starts[f + 1] - self.starts[f]).to_le_bytes());
        }
        let names = b"\0.text\0.bss\0.symtab\0.strtab\0";
        let size = self.starts[FUNCTIONS as usize] - CODE;
        let code: Vec<u8> = self.code.values().flat_map(|i| i.bytes.iter().copied()).collect();
        let text = 64 + 2 * 56;
        let symtab = text + code.len() as u64;
        let strtab = symtab + symbols.len() as u64;
        let shstrtab = strtab + strings.len() as u64;
        let sections = shstrtab + names.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
        for word in [CODE, 64, sections] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 6, 0, 5, 0]);
        // Loaded: flags, offset, address, bytes in the file, bytes in memory
        for [flags, offset, address, stored, size] in
            [[5, text, CODE, size, size], [6, 0, GLOBALS, 0, 48]]
        {
            file.extend(1u32.to_le_bytes());
            file.extend((flags as u32).to_le_bytes());
            for word in [offset, address, address, stored, size, 1] {
                file.extend(word.to_le_bytes());
            }
        }
        file.extend(code.iter().chain(&symbols).chain(&strings).chain(names));
        // name, type, flags, address, offset, size, link, info, align, entry size
        let headers: [[u64; 10]; 6] = [
            [0; 10],
            [1, 1, 6, CODE, text, size, 0, 0, 1, 0],
            [7, 8, 3, GLOBALS, text, 48, 0, 0, 1, 0],
            [12, 2, 0, 0, symtab, symbols.len() as u64, 4, 1, 8, 24],
            [20, 3, 0, 0, strtab, strings.len() as u64, 0, 0, 1, 0],
            [20, 3, 0, 0, shstrtab, names.len() as u64, 0, 0, 1, 0],
        ];
        for [name, kind, flags, address, offset, size, link, info, align, entry] in headers {
            file.extend((name as u32).to_le_bytes());
            file.extend((kind as u32).to_le_bytes());
            for word in [flags, address, offset, size] {
                file.extend(word.to_le_bytes());
            }
            file.extend((link as u32).to_le_bytes());
            file.extend((info as u32).to_le_bytes());
            file.extend(align.to_le_bytes());
            file.extend(entry.to_le_bytes());
        }
        file
    }
}

/// A line of Giano's format.
fn giano(log: &mut String, time: usize, step: &Step) {
    write!(log, "{time} cpu{} {:x} ", step.thread, step.pc).unwrap();
    step.code.iter().for_each(|b| write!(log, "{b:02x}").unwrap());
    write!(log, " \"\" rsp={:x}", step.sp).unwrap();
    for a in &step.accesses {
        let kind = if a.is_write { 'W' } else { 'R' };
        write!(log, " [M:{kind} {:x} {}]", a.address, a.size).unwrap();
    }
    log.push('\n');
}

/// rax, rcx, rdx, rbx, rbp, rsi, rdi
const REGISTERS: [u8; 7] = [0, 1, 2, 3, 5, 6, 7];

fn insn(bytes: &[u8], kind: Kind, accesses: &[(bool, u64, Option<u64>)]) -> Insn {
    Insn { bytes: bytes.to_vec(), kind, accesses: accesses.to_vec() }
}

/// An instruction on parts of registers, or on vectors.
fn wide_insn(random: &mut Random) -> Insn {
    let (a, b) = (random.below(8) as u8, random.below(8) as u8);
    // al, cl, dl, bl, ah, ch, dh, bh; the address needs rbx.
    let (registers, based) = (0xc0 | b << 3 | a, 0x43 | b << 3);
    let displacement = random.below(12) as u8;
    let plain =
        |bytes: &[u8], accesses: &[(bool, u64, Option<u64>)]| insn(bytes, Kind::Plain, accesses);
    let (load, store) = (|size| [(false, size, None)], |size| [(true, size, None)]);
    match random.below(20) {
        0 | 1 => plain(&[0x88, registers], &[]), // mov %ah,%bl
        2 => plain(&[0x88, based, displacement], &store(1)), // mov %ah,8(%rbx)
        3 => plain(&[0x8a, based, displacement], &load(1)), // mov 8(%rbx),%ah
        4 => plain(&[0x00, registers], &[]),     // add %ah,%bl
        5 => plain(&[0x0f, 0xb6, registers], &[]), // movzbl %ah,%ebx
        6 => plain(&[0x0f, 0xbe, based, displacement], &load(1)), // movsbl 8(%rbx),%eax
        7 => plain(&[0x0f, 0x28, registers], &[]), // movaps
        8 => plain(&[0x66, 0x0f, 0xd4, registers], &[]), // paddq
        9 => plain(&[0xf3, 0x0f, 0x10, registers], &[]), // movss, which merges
        10 => plain(&[0xf3, 0x0f, 0x10, based, displacement], &load(4)), // movss, which clears
        11 => plain(&[0x66, 0x0f, 0x13, based, displacement], &store(8)), // movlpd
        12 => plain(&[0x0f, 0x16, based, displacement], &load(8)), // movhps
        13 => plain(&[0xc5, 0xfc, 0x10, based, displacement], &load(32)), // vmovups
        14 => plain(&[0xc5, 0xfc, 0x11, based, displacement], &store(32)),
        15 => plain(&[0x66, 0x0f, 0x6e, registers], &[]), // movd %eax,%xmm1
        16 => plain(&[0x66, 0x0f, 0x7e, registers & !7], &[]), // movd %xmm1,%eax
        17 => plain(&[0x66, 0x0f, 0xef, 0xc0 | a << 3 | a], &[]), // pxor, which zeroes
        18 => plain(&[0x0f, 0x12, registers], &[]),       // movhlps
        _ => plain(&[0x48, 0x0f, 0xaf, 0xc0 | (b & 3) << 3 | (a & 3)], &[]), // imul
    }
}

fn body(random: &mut Random, wide: bool) -> Vec<Insn> {
    let mut saved: Vec<u8> = REGISTERS.iter().copied().filter(|_| random.chance(35)).collect();
    let mut list: Vec<Insn> = saved.iter().map(|r| insn(&[0x50 + r], Kind::Push, &[])).collect();
    for _ in 0..4 + random.below(24) {
        let (a, b) = (REGISTERS[random.below(7) as usize], REGISTERS[random.below(7) as usize]);
        // mod 3 (register), rm a, reg b; and [rbx + displacement]; and [rsp + displacement]
        let registers = 0xc0 | b << 3 | a;
        let (low, based, displacement) =
            (0xc0 | (b & 3) << 3 | (a & 3), 0x43 | b << 3, random.below(32) as u8 * 4);
        let own = Some(displacement as u64);
        if wide && random.chance(40) {
            list.push(wide_insn(random));
            continue;
        }
        list.push(match random.below(30) {
            0 | 1 => insn(&[0x48, 0x89, registers], Kind::Plain, &[]),
            2 => insn(&[0x89, registers], Kind::Plain, &[]),
            3 => insn(&[0x66, 0x89, registers], Kind::Plain, &[]),
            4 => insn(&[0x88, low], Kind::Plain, &[]),
            5 | 6 => insn(&[0x48, 0x01, registers], Kind::Plain, &[]),
            7 => insn(&[0x31, 0xc0 | a << 3 | a], Kind::Plain, &[]),
            8 => insn(&[0xb8 + a, 1, 0, 0, 0], Kind::Plain, &[]),
            9 => insn(&[0x48, 0x89, based, displacement], Kind::Plain, &[(true, 8, None)]),
            10 => insn(&[0x89, based, displacement], Kind::Plain, &[(true, 4, None)]),
            11 => insn(&[0x66, 0x89, based, displacement], Kind::Plain, &[(true, 2, None)]),
            12 => insn(&[0x88, 0x43 | (b & 3) << 3, displacement], Kind::Plain, &[(true, 1, None)]),
            13 => insn(&[0x48, 0x8b, based, displacement], Kind::Plain, &[(false, 8, None)]),
            14 => insn(&[0x8b, based, displacement], Kind::Plain, &[(false, 4, None)]),
            15 => insn(&[0x66, 0x8b, based, displacement], Kind::Plain, &[(false, 2, None)]),
            16 => {
                insn(&[0x8a, 0x43 | (b & 3) << 3, displacement], Kind::Plain, &[(false, 1, None)])
            }
            17 => insn(
                &[0x48, 0x01, based, displacement],
                Kind::Plain,
                &[(false, 8, None), (true, 8, None)],
            ),
            18 => insn(&[0x0f, 0x10, 0x43, displacement], Kind::Plain, &[(false, 16, None)]),
            19 => insn(&[0x0f, 0x11, 0x43, displacement], Kind::Plain, &[(true, 16, None)]),
            20 => insn(
                &[0x48, 0x89, 0x44 | b << 3, 0x24, displacement],
                Kind::Plain,
                &[(true, 8, own)],
            ),
            21 => insn(
                &[0x48, 0x8b, 0x44 | b << 3, 0x24, displacement],
                Kind::Plain,
                &[(false, 8, own)],
            ),
            22 => insn(&[0xf3, 0xa4], Kind::Repeated, &[(false, 1, None), (true, 1, None)]),
            23..26 => insn(&[0xe8, 0, 0, 0, 0], Kind::Call(0), &[]),
            26 => insn(&[0xff, 0xd0], Kind::CallRegister, &[]),
            27 => insn(&[0x75, 0], Kind::Branch(0), &[]),
            28 => insn(&[0x0f, 0x05], Kind::Plain, &[]),
            _ => insn(&[0x90], Kind::Plain, &[]),
        });
    }
    saved.reverse();
    list.extend(saved.iter().map(|r| insn(&[0x58 + r], Kind::Pop, &[])));
    list.push(match random.below(8) {
        0 => insn(&[0xe9, 0, 0, 0, 0], Kind::Jump(0), &[]),
        1 => insn(&[0xff, 0xe0], Kind::JumpRegister, &[]),
        _ => insn(&[0xc3], Kind::Return, &[]),
    });
    // So that nothing falls off the end of the last function.
    list.push(insn(&[0xc3], Kind::Return, &[]));
    list
}

struct Thread {
    pc: u64,
    sp: u64,
    /// Return address and slot of what was called.
    frames: Vec<(u64, u64)>,
    interrupted: Option<(u64, u64)>,
}

impl Thread {
    fn new(pc: u64, sp: u64) -> Thread {
        Thread { pc, sp, frames: Vec::new(), interrupted: None }
    }

    fn step(&mut self, thread: usize, program: &Program, random: &mut Random) -> Step {
        let pc = self.pc;
        let insn = &program.code[&pc];
        let next = pc + insn.bytes.len() as u64;
        let mut accesses = Vec::new();
        let access = |is_write, address, size| Access { is_write, address, size, control: false };
        for &(is_write, size, own) in &insn.accesses {
            let address = match (own, random.below(10), accesses.last()) {
                (Some(offset), ..) => self.sp + offset,
                // The write of an addition goes where its read was.
                (None, _, Some(Access { address, .. })) if insn.kind == Kind::Plain => *address,
                (None, 0..4, _) => MEMORY[0] + random.below(48 - size),
                // Across a page, now and then.
                (None, 4..8, _) => MEMORY[1] + random.below(64),
                (None, ..) => self.sp - 24 + random.below(64),
            };
            accesses.push(access(is_write, address, size));
        }
        let any = |random: &mut Random| program.starts[random.below(FUNCTIONS) as usize];
        self.pc = next;
        match insn.kind {
            Kind::Plain => {}
            Kind::Repeated if random.chance(60) => self.pc = pc,
            Kind::Repeated => {}
            Kind::Push => {
                self.sp -= 8;
                accesses.push(access(true, self.sp, 8));
            }
            Kind::Pop => {
                accesses.push(access(false, self.sp, 8));
                self.sp += 8;
            }
            Kind::Call(_) | Kind::CallRegister => {
                self.sp -= 8;
                accesses.push(access(true, self.sp, 8));
                self.pc = if let Kind::Call(target) = insn.kind { target } else { any(random) };
                if self.pc != next {
                    self.frames.push((next, self.sp));
                }
            }
            Kind::Return => {
                // Now and then several frames at once, as longjmp and exceptions do.
                while random.chance(8) && self.frames.len() > 1 {
                    self.frames.pop();
                }
                let (mut to, mut slot) = self.frames.pop().unwrap_or((any(random), self.sp));
                // Or to elsewhere in a function that waits, in its frame or not.
                if random.chance(8) {
                    to = program.inside(to, random);
                    slot = slot.wrapping_add(8 * random.below(4)).wrapping_sub(8);
                }
                accesses.push(Access { control: true, ..access(false, slot, 8) });
                self.sp = slot + 8;
                self.pc = to;
            }
            Kind::Jump(target) => self.pc = target,
            Kind::JumpRegister if random.chance(30) && !self.frames.is_empty() => {
                let at = random.below(self.frames.len() as u64) as usize;
                self.pc = program.inside(self.frames[at].0, random);
                self.frames.truncate(at);
            }
            Kind::JumpRegister => self.pc = any(random),
            Kind::Branch(target) if random.chance(40) => self.pc = target,
            Kind::Branch(_) => {}
        }
        match self.interrupted {
            None if random.chance(1) => {
                self.interrupted = Some((self.pc, self.sp));
                self.pc = program.starts[5];
                self.sp -= 128;
            }
            Some((at, sp)) if random.chance(10) => {
                self.interrupted = None;
                (self.pc, self.sp) = (at, sp);
            }
            _ => {}
        }
        Step { thread, pc, code: insn.bytes.clone(), sp: self.sp, accesses }
    }
}

/// The simplest model there is: bytes by the function that wrote them last, counted when read.
/// `steps` in order.
pub fn naive(program: &Program, steps: &[Step]) -> BTreeMap<(String, String), u64> {
    let mut writer: HashMap<u64, &str> = HashMap::new();
    let mut bytes = BTreeMap::new();
    for step in steps {
        let function = program.function(step.pc);
        for a in step.accesses.iter().filter(|a| !a.control) {
            for byte in a.address..a.address + a.size {
                if a.is_write {
                    writer.insert(byte, function);
                } else if let Some(from) = writer.get(&byte) {
                    *bytes.entry((from.to_string(), function.to_string())).or_default() += 1;
                }
            }
        }
    }
    bytes
}
