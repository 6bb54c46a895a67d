//! System calls and semihosting of a log with registers: what the kernel or the host read and wrote, by the
//! number, the arguments and the result. A call counts if the next instruction is the next step of its
//! thread: else what it enters is in the log.
//!
//! Sources: syscall(2); Arm, "Semihosting for AArch32 and AArch64", 5; RISC-V Semihosting, 2; riscv-isa-sim, fesvr
//! (syscall.cc, device.cc): a store to `tohost` has a device in its first byte, a command in the next.

use super::call_rules::{Range, Returned};
use super::dictionary::KnownInstruction;
use super::problems::ProblemKind;
use super::register_values::RegisterValues;
use super::stores::Stores;
use crate::event::{Event, Isa, KernelAccess, LoggedAccess, RegSpan, SystemCall};
use crate::isa::decoded::FlowKind;
use crate::isa::registers;
use crate::isa::system_call::{argument_names, number_name};
use crate::trace::stream::{KernelSources, call_name};

/// `slli zero,zero,0x1f`, which makes an `ebreak` a call of the host.
const BEFORE_EBREAK: [u8; 4] = [0x13, 0x10, 0xf0, 0x01];

pub const UNKNOWN_STORES: ProblemKind = ProblemKind::assumed(
    "kernel-stores",
    "record with `addfg record`, or with `--qemu`, which tell what the kernel writes",
);

/// Who answers a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callee {
    Kernel,
    /// The host, by semihosting.
    Host,
    /// The host, as a kernel: Spike's `tohost`.
    Proxy,
}

/// A call that has not returned.
pub struct OpenCall {
    next: u64,
    callee: Callee,
    number: u64,
    arguments: [Option<u64>; 6],
    /// Where a proxy leaves the result: eight bytes.
    answer: Option<u64>,
}

impl OpenCall {
    /// Whether the host leaves the result in memory, when it likes.
    pub fn is_proxied(&self) -> bool {
        self.answer.is_some()
    }

    /// Where control goes on behind the call.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn is_answered_at(&self, address: u64) -> bool {
        self.answer == Some(address)
    }

    /// What accesses of the next step of the thread say of a proxied call.
    pub fn looked_at(&self, accesses: &[LoggedAccess]) -> Look {
        let overlaps = |access: &LoggedAccess, address: u64, bytes: u64| {
            access.address < address.saturating_add(bytes)
                && address < access.address.saturating_add(access.size.max(1).into())
        };
        let buffer = self.arguments[1].zip(self.arguments[2]);
        for access in accesses {
            if self.answer == Some(access.address) && !access.is_write {
                return Look::Answer;
            }
            if buffer.is_some_and(|(address, bytes)| overlaps(access, address, bytes)) {
                return Look::Data;
            }
        }
        Look::Nothing
    }
}

/// What a step that follows a proxied call does with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Nothing,
    /// It reads the result, or the first half of it.
    Answer,
    /// It goes on with the data before it read the result.
    Data,
}

/// What finds calls.
pub struct Calls {
    isa: Isa,
    number: Option<RegSpan>,
    arguments: Vec<RegSpan>,
    result: Option<RegSpan>,
    sources: KernelSources,
}

impl Calls {
    pub fn new(isa: Isa) -> Calls {
        let file = registers(isa);
        let number = file.lookup(number_name(isa));
        let arguments: Vec<RegSpan> =
            argument_names(isa).iter().take(6).filter_map(|name| file.lookup(name)).collect();
        let x86 = matches!(isa, Isa::X86 | Isa::X86_64);
        let result = if x86 { number } else { arguments.first().copied() };
        Calls { isa, number, arguments, result, sources: KernelSources::new(isa, 0) }
    }

    fn word(&self) -> u64 {
        if matches!(self.isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64) { 8 } else { 4 }
    }

    /// The call that an executed instruction makes; `before`: the code of the thread's step before.
    pub fn begin(
        &self,
        known: &KnownInstruction,
        before: &[u8],
        values: &RegisterValues,
    ) -> Option<OpenCall> {
        let kind = known.decoded.flow.kind;
        if !matches!(kind, FlowKind::Syscall | FlowKind::Trap) {
            return None;
        }
        let host = self.is_of_host(&known.def.bytes, known.def.thumb, before);
        if !host && kind == FlowKind::Trap {
            return None;
        }
        let mut arguments = [None; 6];
        for (argument, span) in arguments.iter_mut().zip(&self.arguments) {
            *argument = values.get(*span);
        }
        let number =
            if host { arguments[0] } else { self.number.and_then(|span| values.get(span)) };
        let callee = if host { Callee::Host } else { Callee::Kernel };
        Some(OpenCall { next: known.next, callee, number: number?, arguments, answer: None })
    }

    /// What a store to Spike's `tohost` asks of the host, behind which control goes on at `next`: the system call of a
    /// block in memory, or a character of the console. `stored`: address and size of the store, which is among `stores`.
    pub fn of_tohost(
        tohost: u64,
        stored: (u64, u32),
        next: u64,
        stores: &mut Stores,
    ) -> Option<OpenCall> {
        // Processors of 32 bits store two words, in any order.
        let whole = match stored {
            (address, 8) => address == tohost,
            (address, 4) => address & !7 == tohost && stores.are_both_words(address),
            _ => false,
        };
        let value = stores.load(tohost, 8).filter(|_| whole)?;
        // The next word begins another call: nothing stands between it and this one.
        stores.add(0, 0, 0);
        match value >> 48 {
            0 if value & 1 == 0 => {
                let field = |n: u64| stores.load(value.wrapping_add(8 * n), 8);
                let arguments = std::array::from_fn(|n| field(n as u64 + 1));
                let number = field(0)?;
                let answer = Some(value);
                Some(OpenCall { next, callee: Callee::Proxy, number, arguments, answer })
            }
            // Device 1, command 1.
            0x0101 => {
                let arguments = [None, Some(tohost), None, None, None, None];
                let (callee, answer) = (Callee::Host, None);
                Some(OpenCall { next, callee, number: 3, arguments, answer })
            }
            _ => None,
        }
    }

    fn is_of_host(&self, code: &[u8], thumb: bool, before: &[u8]) -> bool {
        match self.isa {
            Isa::Arm if thumb => matches!(code, [0xab, 0xdf | 0xbe]),
            Isa::Arm => code == [0x56, 0x34, 0x12, 0xef],
            Isa::Aarch64 => code == [0, 0, 0x5e, 0xd4],
            Isa::Riscv32 | Isa::Riscv64 => {
                before == BEFORE_EBREAK && matches!(code, [0x73, 0, 0x10, 0] | [2, 0x90])
            }
            _ => false,
        }
    }

    /// What a call was, if its thread goes on behind it, at `address`, with these registers; and its name
    /// if it stores what is not known.
    pub fn end(
        &mut self,
        call: &OpenCall,
        address: u64,
        values: &RegisterValues,
        stores: &Stores,
    ) -> Option<(SystemCall, Option<String>)> {
        if address != call.next {
            return None;
        }
        let result = match call.callee {
            // Nobody saw the answer: the host is taken to do all that it is asked.
            Callee::Proxy => return self.answered(call, call.arguments[2]?, stores),
            // A character has no result.
            Callee::Host if call.number == 3 => 0,
            _ => self.result.and_then(|span| values.get(span))?,
        };
        if call.callee == Callee::Host {
            return self.host(call, result, stores).map(|call| (call, None));
        }
        self.answered(call, result, stores)
    }

    /// What a call of a kernel, or of a host that is like one, was, with its result.
    pub fn answered(
        &mut self,
        call: &OpenCall,
        result: u64,
        stores: &Stores,
    ) -> Option<(SystemCall, Option<String>)> {
        let signed =
            if self.word() == 4 { i64::from(result as u32 as i32) } else { result.cast_signed() };
        let failed = (-4095..0).contains(&signed);
        let name = call_name(self.isa, call.number);
        let (accesses, known) = match name {
            // ARM's own: of caches and of the thread's pointer.
            None => (Vec::new(), failed || (self.isa == Isa::Arm && call.number >> 4 == 0xf000)),
            Some(name) => {
                let result = if failed { Err(signed.unsigned_abs()) } else { Ok(result) };
                self.accesses(name, call, result, stores)
            }
        };
        let mut payload = Payload::default();
        let arguments = call.arguments.iter().map_while(|argument| *argument);
        let arguments: Vec<u64> = arguments.collect();
        payload.numbers([call.number, arguments.len() as u64]);
        payload.numbers(arguments);
        let mut found = None;
        let mut tell = |event| {
            if let Event::SystemCall(call) = event {
                found = Some(*call);
            }
        };
        self.sources.event(1, &[1], &mut tell);
        self.sources.event(6, &payload.0, &mut tell);
        let answer = call.answer.map(|address| (true, address, 8, true));
        for (is_write, address, bytes, structure) in accesses.into_iter().chain(answer) {
            let payload = Payload::of([address, bytes, u64::from(structure)]);
            self.sources.event(if is_write { 8 } else { 7 }, &payload.0, &mut tell);
        }
        let error = signed.unsigned_abs();
        let payload = Payload::of([u64::from(failed), if failed { error } else { result }]);
        self.sources.event(9, &payload.0, &mut tell);
        let unknown = (!known).then(|| name.map_or_else(|| call.number.to_string(), str::to_owned));
        found.map(|call| (call, unknown))
    }

    /// Ranges that the kernel read or wrote, and whether these are all.
    fn accesses(
        &self,
        name: &str,
        call: &OpenCall,
        result: Result<u64, u64>,
        stores: &Stores,
    ) -> (Vec<Range>, bool) {
        let (isa, arguments, proxied) = (self.isa, call.arguments, call.is_proxied());
        Returned { isa, name, arguments, result, stores, proxied }.accesses()
    }

    /// A call of the host.
    fn host(&self, call: &OpenCall, result: u64, stores: &Stores) -> Option<SystemCall> {
        let word = self.word();
        let block = call.arguments[1]?;
        let field = |n: u64| stores.load(block.wrapping_add(n * word), word);
        let handle =
            || field(0).map_or_else(|| "unknown handle".to_owned(), |n| format!("handle {n}"));
        let (name, access) = match call.number {
            3 => ("writec", Some((false, block, 1, "<write: console>".to_owned()))),
            // What was not moved is the result.
            5 | 6 => {
                let name = if call.number == 5 { "write" } else { "read" };
                let range = field(1).zip(field(2));
                let range = range.map(|(at, bytes)| (at, bytes.saturating_sub(result)));
                let of =
                    |(at, bytes)| (call.number == 6, at, bytes, format!("<{name}: {}>", handle()));
                (name, range.map(of))
            }
            // The line of arguments.
            0x15 => {
                let range = field(0).zip(field(1));
                (
                    "command line",
                    range.map(|(at, bytes)| (true, at, bytes, "<command line>".into())),
                )
            }
            0x16 => {
                ("heap", stores.load(block, word).map(|at| (true, at, 4 * word, "<heap>".into())))
            }
            1..=0x31 => ("semihosting", None),
            _ => return None,
        };
        let accesses = access.filter(|(_, _, bytes, _)| (1..1 << 32).contains(bytes));
        let accesses = accesses.map(|(is_write, address, bytes, source)| KernelAccess {
            is_write,
            address,
            bytes,
            source: Some(source.into()),
        });
        Some(SystemCall {
            number: i64::try_from(call.number).ok(),
            name: Some(name.into()),
            // `SYS_WRITEC` has none.
            result: (call.number != 3).then_some(result),
            accesses: accesses.into_iter().collect(),
            ..SystemCall::default()
        })
    }
}

/// Numbers as a stream has them.
#[derive(Default)]
struct Payload(Vec<u8>);

impl Payload {
    fn of(numbers: impl IntoIterator<Item = u64>) -> Payload {
        let mut payload = Payload::default();
        payload.numbers(numbers);
        payload
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for mut number in numbers {
            while number >= 0x80 {
                self.0.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.0.push(number as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stores::STORES;
    use super::*;

    #[test]
    fn the_last_stores_are_remembered() {
        let mut stores = Stores::default();
        stores.add(0x100, 8, 0x1122_3344_5566_7788);
        stores.add(0x104, 2, 0xaabb);
        assert_eq!(stores.load(0x100, 8), Some(0x1122_aabb_5566_7788));
        assert_eq!(stores.load(0xff, 2), None);
        (0..STORES as u64 - 1).for_each(|i| stores.add(0x1000 + 8 * i, 8, i));
        assert_eq!(stores.load(0x104, 2), Some(0xaabb));
        assert_eq!(stores.load(0x100, 4), None);
        assert_eq!(stores.load(0x1000 + 8 * 5, 8), Some(5));
        stores.add(0x1000 + 8 * 5, 8, 99);
        assert_eq!(stores.load(0x1000 + 8 * 5, 8), Some(99));
    }

    /// What a call through `tohost` was: name and source or sink, with its range.
    fn told(isa: Isa, call: &OpenCall, stores: &Stores) -> (String, Vec<(u64, u64, String)>) {
        let values = RegisterValues::new(registers(isa).size);
        let (call, _) = Calls::new(isa).end(call, call.next, &values, stores).expect("a call");
        let range = |of: &KernelAccess| {
            (of.address, of.bytes, of.source.as_deref().unwrap_or_default().to_owned())
        };
        (
            call.name.as_deref().unwrap_or_default().to_owned(),
            call.accesses.iter().map(range).collect(),
        )
    }

    #[test]
    fn what_is_written_depends_on_the_arguments() {
        let calls = Calls::new(Isa::X86_64);
        let of = |name: &str, arguments: [u64; 5]| {
            let [a, b, c, d, e] = arguments.map(Some);
            let arguments = [a, b, c, d, e, None];
            let call =
                OpenCall { next: 0, callee: Callee::Kernel, number: 0, arguments, answer: None };
            let (ranges, known) = calls.accesses(name, &call, Ok(0), &Stores::default());
            (ranges.into_iter().filter(|(is_write, ..)| *is_write).collect::<Vec<_>>(), known)
        };
        // FUTEX_WAIT, FUTEX_WAKE_OP of a process, FUTEX_LOCK_PI, FUTEX_LOCK_PI2.
        assert_eq!(of("futex", [0x100, 0, 1, 0, 0x200]), (vec![], true));
        assert_eq!(of("futex", [0x100, 133, 1, 0, 0x200]), (vec![(true, 0x200, 4, true)], true));
        assert_eq!(of("futex", [0x100, 6, 1, 0, 0x200]), (vec![(true, 0x100, 4, true)], true));
        assert_eq!(of("futex", [0x100, 13, 1, 0, 0x200]), (vec![(true, 0x100, 4, true)], true));
        // ARCH_SET_FS, ARCH_GET_FS.
        assert_eq!(of("arch_prctl", [0x1002, 0x100, 0, 0, 0]), (vec![], true));
        assert_eq!(
            of("arch_prctl", [0x1003, 0x100, 0, 0, 0]),
            (vec![(true, 0x100, 8, true)], true)
        );
        // F_SETFD, F_GETLK without its hole, and a command that is not known.
        assert_eq!(of("fcntl", [3, 2, 1, 0, 0]), (vec![], true));
        let lock = vec![(true, 0x100, 4, true), (true, 0x108, 20, true)];
        assert_eq!(of("fcntl", [3, 5, 0x100, 0, 0]), (lock, true));
        assert_eq!(of("fcntl", [3, 99, 0x100, 0, 0]), (vec![], false));
        // TIOCGWINSZ, a request that says its size, and one that does not.
        assert_eq!(of("ioctl", [0, 0x5413, 0x100, 0, 0]), (vec![(true, 0x100, 8, false)], true));
        assert_eq!(
            of("ioctl", [0, 0x8010_6b01, 0x100, 0, 0]),
            (vec![(true, 0x100, 16, false)], true)
        );
        assert_eq!(of("ioctl", [0, 0x9999, 0x100, 0, 0]), (vec![], false));
        // How long a name is stands in memory.
        assert!(!of("getsockname", [3, 0x100, 0x200, 0, 0]).1);
        assert_eq!(of("getsockname", [3, 0, 0, 0, 0]), (vec![], true));
    }

    #[test]
    fn stores_to_tohost_call_the_host() {
        const TOHOST: u64 = 0x8000_1000;
        const BLOCK: u64 = 0x8000_2000;
        for (isa, word) in [(Isa::Riscv64, 8), (Isa::Riscv32, 4)] {
            let mut stores = Stores::default();
            // Gives what the last of the stores calls; those before call nothing.
            let store = |stores: &mut Stores, address: u64, value: u64, upper_first: bool| {
                let mut parts: Vec<u64> =
                    (0..8 / word).map(|i| u64::from(word) * u64::from(i)).collect();
                if upper_first {
                    parts.reverse();
                }
                let mut found = None;
                for offset in parts {
                    assert!(found.is_none(), "half a store calls");
                    let part = if word == 8 { value } else { value >> (8 * offset) & 0xffff_ffff };
                    stores.add(address + offset, word, part);
                    let stored = (address + offset, word);
                    found = Calls::of_tohost(TOHOST, stored, 0x8000_0010, stores);
                }
                found
            };
            for (upper_first, number, fd, source) in [
                (false, 64, 1, "<write: stdout>"),
                (true, 63, 0, "<read: stdin>"),
                (true, 64, 2, "<write: stderr>"),
            ] {
                for (i, value) in [number, fd, 0x8000_3000, 12].into_iter().enumerate() {
                    assert!(store(&mut stores, BLOCK + 8 * i as u64, value, upper_first).is_none());
                }
                let call = store(&mut stores, TOHOST, BLOCK, upper_first).expect("a call");
                let name = if number == 64 { "write" } else { "read" };
                let answer = (BLOCK, 8, format!("<{name}>"));
                let expected = vec![(0x8000_3000, 12, source.to_owned()), answer];
                assert_eq!(told(isa, &call, &stores), (name.to_owned(), expected));
            }
            let call = store(&mut stores, TOHOST, 0x0101_0000_0000_0000 | u64::from(b'x'), false);
            let character = vec![(TOHOST, 1, "<write: console>".to_owned())];
            assert_eq!(
                told(isa, &call.expect("a call"), &stores),
                ("writec".to_owned(), character)
            );
            // The end of the program, and a block that was not seen.
            assert!(store(&mut stores, TOHOST, 1, false).is_none());
            assert!(store(&mut stores, TOHOST, 0x9000_0000, false).is_none());
        }
    }
}
