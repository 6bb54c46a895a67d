//! Recorded runs against what the decoder says.

use crate::event::{Isa, RegSpan};
use crate::isa::pcode::{Pcode, registers};
use crate::isa::{Decoded, Decoder, FlowKind, RegAccess, Registers};
use std::collections::{BTreeMap, HashMap};

/// Replays a QEMU log of registers (`-singlestep -d nochain,cpu,fpu`) next to the accesses that a
/// TCG plugin saw in the same run (`I pc`, `L address size`, `S address size` a line), and counts
/// where this decoder disagrees. Set `ADDFG_REPLAY="isa elf log accesses"`; several, separated by
/// commas.
#[test]
#[ignore = "needs a recorded run; see the comment"]
fn replay_of_recorded_runs() {
    let Ok(runs) = std::env::var("ADDFG_REPLAY") else {
        println!("skipped: ADDFG_REPLAY is not set");
        return;
    };
    for run in runs.split(',') {
        let part: Vec<&str> = run.split_whitespace().collect();
        replay(part[0], part[1], part[2], part[3]);
    }
}

struct Image(Vec<(u64, Vec<u8>)>);

impl Image {
    fn new(path: &str) -> Image {
        let bytes = std::fs::read(path).unwrap();
        let elf = goblin::elf::Elf::parse(&bytes).unwrap();
        let segments =
            elf.program_headers.iter().filter(|p| p.p_type == goblin::elf::program_header::PT_LOAD);
        Image(segments.map(|p| (p.p_vaddr, bytes[p.file_range()].to_vec())).collect())
    }
    fn code(&self, at: u64) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(a, b)| at >= *a && at < a + b.len() as u64)
            .map(|(a, b)| &b[(at - a) as usize..])
    }
}

/// The dump of registers that begins at `lines[0]`, into `state`; true if the line belongs to it.
fn dump_line(isa: Isa, line: &str, file: &Registers, state: &mut [u8], lane: &mut usize) {
    let mut set = |name: &str, hex: &str| {
        let (Some(span), Ok(value)) = (file.lookup(name), u128::from_str_radix(hex, 16)) else {
            return;
        };
        let range = span.offset as usize..(span.offset + span.size) as usize;
        state[range].copy_from_slice(&value.to_le_bytes()[..span.size as usize]);
    };
    if isa == Isa::Aarch64 && (line.starts_with('Z') || line.starts_with("   [")) {
        if let Some(n) = line.strip_prefix('Z') {
            *lane = n[..2].parse().unwrap();
        } else {
            let hex: String = line.split('=').nth(1).unwrap().split(':').collect();
            set(&format!("v{lane}"), hex.trim());
        }
        return;
    }
    if matches!(isa, Isa::Riscv64 | Isa::Riscv32) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.chunks(2) {
            if let [name, hex] = pair {
                set(name.split('/').next().unwrap(), hex);
            }
        }
        return;
    }
    for word in line.split_whitespace() {
        if let Some((name, hex)) = word.split_once('=') {
            let name = name.to_lowercase();
            let number = name.trim_start_matches(|c: char| c.is_alphabetic());
            let short = match number.parse::<u32>() {
                Ok(n) => format!("{}{n}", &name[..name.len() - number.len()]),
                Err(_) => name.clone(),
            };
            // `Q00=high:low` of processors without SVE.
            let joined = hex.replace(':', "");
            let hex = joined.as_str();
            // `s32=` and above are halves of d16 and above.
            if !(isa == Isa::Arm && short.starts_with('s') && short != "sp") {
                set(&short, hex);
            }
        }
    }
    if let Some(hex) = line.strip_prefix("FPSCR: ") {
        set("fpscr", hex);
    }
}

fn number(state: &[u8], span: RegSpan) -> Option<u64> {
    let mut all = [0; 8];
    all.get_mut(..span.size as usize)?
        .copy_from_slice(state.get(span.offset as usize..(span.offset + span.size) as usize)?);
    Some(u64::from_le_bytes(all))
}

fn replay(isa: &str, elf: &str, log: &str, accesses: &str) {
    use std::io::BufRead;
    let thumb_bit = 0x20;
    let isa = match isa {
        "arm" => Isa::Arm,
        "aarch64" => Isa::Aarch64,
        "riscv64" => Isa::Riscv64,
        "riscv32" => Isa::Riscv32,
        other => panic!("{other}?"),
    };
    let image = Image::new(elf);
    let file = registers(isa);
    let pc = file.pc.unwrap();
    let mut decoder = Pcode::new(isa, false);
    let began = std::time::Instant::now();
    decoder.specification(false);
    let loading = began.elapsed();
    let mut cache: HashMap<(u64, bool), Option<Decoded>> = HashMap::new();
    let mut seen: Vec<(u64, Vec<(bool, u64, u32)>)> = Vec::new();
    for line in std::io::BufReader::new(std::fs::File::open(accesses).unwrap())
        .lines()
        .map_while(Result::ok)
    {
        let w: Vec<&str> = line.split(' ').collect();
        let n = u64::from_str_radix(w[1], 16).unwrap();
        match w[0] {
            "I" => seen.push((n, Vec::new())),
            kind => seen.last_mut().unwrap().1.push((kind == "S", n, w[2].parse().unwrap())),
        }
    }
    let first = match isa {
        Isa::Arm => "R00=",
        Isa::Aarch64 => " PC=",
        _ => " pc ",
    };
    let mut state = vec![0u8; file.size];
    let mut before = state.clone();
    let mut lane = 0;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut bad: BTreeMap<String, u64> = BTreeMap::new();
    let mut known: HashMap<u64, u8> = HashMap::new();
    let mut depends: HashMap<(u64, bool, Vec<u8>), Vec<u8>> = HashMap::new();
    let mut decode_time = std::time::Duration::ZERO;
    let mut dumps = 0usize;
    let mut lines =
        std::io::BufReader::new(std::fs::File::open(log).unwrap()).lines().map_while(Result::ok);
    loop {
        let line = lines.next();
        let starts = line.as_deref().is_none_or(|l| l.starts_with(first));
        if starts {
            dumps += 1;
            // Dumps so far: before (step dumps-3) and state (step dumps-2) are complete.
            if dumps >= 3 && dumps - 3 < seen.len() {
                let step = dumps - 3;
                *counts.entry("steps").or_default() += 1;
                let at = number(&before, pc).unwrap();
                let thumb = isa == Isa::Arm
                    && number(&before, file.lookup("cpsr").unwrap()).unwrap() & thumb_bit != 0;
                assert_eq!(at, seen[step].0, "step {step}: the recordings are of different runs");
                let now = std::time::Instant::now();
                let decoded = cache
                    .entry((at, thumb))
                    .or_insert_with(|| decoder.decode(at, image.code(at)?, thumb));
                decode_time += now.elapsed();
                match decoded {
                    None => {
                        *bad.entry(match image.code(at) {
                            Some(b) => format!("not decoded {:02x?}", &b[..4]),
                            None => "not in the image (kernel helper)".to_string(),
                        })
                        .or_default() += 1;
                    }
                    Some(d) => {
                        let mut check = Check {
                            counts: &mut counts,
                            bad: &mut bad,
                            d,
                            file,
                            before: &before,
                            after: &state,
                        };
                        check.step(&seen[step].1, &mut known, &mut depends, (at, thumb));
                    }
                }
            }
            before.copy_from_slice(&state);
        }
        let Some(line) = line else { break };
        dump_line(isa, &line, file, &mut state, &mut lane);
    }
    println!(
        "{elf}: {counts:?}, {} distinct, specification loaded in {loading:?}, decoded in {decode_time:?}",
        cache.len()
    );
    let mut bad: Vec<_> = bad.into_iter().collect();
    bad.sort_by_key(|b| std::cmp::Reverse(b.1));
    for (what, n) in bad.iter().take(400) {
        println!("  {n:7} {what}");
    }
}

struct Check<'a> {
    counts: &'a mut BTreeMap<&'static str, u64>,
    bad: &'a mut BTreeMap<String, u64>,
    d: &'a Decoded,
    file: &'static Registers,
    before: &'a [u8],
    after: &'a [u8],
}

impl Check<'_> {
    fn wrong(&mut self, what: &str) {
        *self.bad.entry(format!("{what}: {}", self.d.text)).or_default() += 1;
    }

    fn step(
        &mut self,
        seen: &[(bool, u64, u32)],
        known: &mut HashMap<u64, u8>,
        depends: &mut HashMap<(u64, bool, Vec<u8>), Vec<u8>>,
        key: (u64, bool),
    ) {
        let d = self.d;
        let value = |s: RegSpan| number(self.before, s);
        let pc = self.file.pc.unwrap();
        let (here, after_pc) = (value(pc).unwrap(), number(self.after, pc).unwrap());
        let next = here.wrapping_add(u64::from(d.size));
        let executed = match &d.condition {
            None => true,
            Some(c) => match c.eval(&value) {
                Some(v) => v != 0,
                None => {
                    self.wrong("condition unknown");
                    true
                }
            },
        };
        if !executed {
            *self.counts.entry("not executed").or_default() += 1;
        }
        let ok = match (d.flow.kind, d.flow.target) {
            _ if !executed => after_pc == next,
            (FlowKind::Next | FlowKind::Syscall, _) => after_pc == next,
            (FlowKind::Trap | FlowKind::Unknown, _) => false,
            (_, Some(t)) => after_pc == t || d.flow.conditional && after_pc == next,
            (_, None) => true,
        };
        if !ok && d.flow.kind != FlowKind::Syscall {
            self.wrong("flow");
        }
        if d.flow.kind == FlowKind::Syscall {
            known.clear();
            return;
        }
        self.registers(executed);
        if executed
            && !seen.iter().any(|s| !s.0)
            && d.memory.iter().all(|m| m.is_write)
            && d.success.is_none()
        {
            self.dependences(depends, key);
        }
        self.memory(executed, seen, known);
    }

    /// No register changes that is not written.
    fn registers(&mut self, executed: bool) {
        let d = self.d;
        for register in self.file.all.iter().filter(|r| !r.control || Some(r.span) == self.file.sp)
        {
            let range =
                register.span.offset as usize..(register.span.offset + register.span.size) as usize;
            for b in range {
                if self.before[b] != self.after[b]
                    && !(executed && d.writes.iter().any(|w| w.span.bytes().contains(&(b as u16))))
                {
                    self.wrong("undeclared write");
                    break;
                }
            }
        }
    }

    /// The same inputs give the same outputs.
    fn dependences(
        &mut self,
        depends: &mut HashMap<(u64, bool, Vec<u8>), Vec<u8>>,
        key: (u64, bool),
    ) {
        let d = self.d;
        let wrote = |w: &RegAccess| {
            &self.after[w.span.offset as usize..(w.span.offset + w.span.size) as usize]
        };
        let mut inputs = Vec::new();
        for r in &d.reads {
            inputs.extend(
                &self.before[r.span.offset as usize..(r.span.offset + r.span.size) as usize],
            );
        }
        let outputs: Vec<u8> =
            d.writes.iter().filter(|w| !w.control).flat_map(wrote).copied().collect();
        match depends.entry((key.0, key.1, inputs)) {
            std::collections::hash_map::Entry::Vacant(v) => {
                v.insert(outputs);
            }
            std::collections::hash_map::Entry::Occupied(o) => {
                *self.counts.entry("dependence checks").or_default() += 1;
                if *o.get() != outputs {
                    self.wrong("missing read");
                }
            }
        }
    }

    /// Memory, byte by byte.
    fn memory(&mut self, executed: bool, seen: &[(bool, u64, u32)], known: &mut HashMap<u64, u8>) {
        let d = self.d;
        let value = |s: RegSpan| number(self.before, s);
        let stored = d.success.is_none_or(|(r, v)| number(self.after, r) == Some(v));
        let mut computed: Vec<(bool, u64)> = Vec::new();
        let mut told = true;
        for m in d.memory.iter().filter(|m| executed && (stored || !m.is_write)) {
            match m.guard.as_ref().map(|g| g.eval(&value)) {
                None | Some(Some(1..)) => {}
                Some(Some(0)) => continue,
                Some(None) => {
                    told = false;
                    known.clear();
                    continue;
                }
            }
            let Some(address) = m.address.eval(&value) else {
                self.wrong("address unknown");
                continue;
            };
            for b in 0..u64::from(m.size) {
                computed.push((m.is_write, address.wrapping_add(b)));
            }
            let Some(r) = m.data_register.filter(|r| r.size as u32 == m.size) else {
                if m.is_write {
                    (0..u64::from(m.size)).for_each(|b| {
                        known.remove(&(address + b));
                    });
                }
                continue;
            };
            for (i, b) in r.bytes().enumerate() {
                let cell = address.wrapping_add(i as u64);
                if m.is_write {
                    known.insert(cell, self.before[b as usize]);
                } else if let Some(value) = known.get(&cell) {
                    *self.counts.entry("loaded bytes checked").or_default() += 1;
                    if *value != self.after[b as usize] {
                        self.wrong("loaded value");
                    }
                }
            }
        }
        // QEMU makes a store-exclusive a compare and exchange, whose load is none of the
        // instruction's.
        let mut logged: Vec<(bool, u64)> = seen
            .iter()
            .filter(|s| d.success.is_none() || s.0)
            .flat_map(|s| (0..u64::from(s.2)).map(move |b| (s.0, s.1 + b)))
            .collect();
        *self.counts.entry("accesses logged").or_default() += seen.len() as u64;
        let order_differs = computed != logged;
        computed.sort_unstable();
        logged.sort_unstable();
        if !told {
            *self.counts.entry("guard unknown").or_default() += 1;
        } else if computed != logged {
            self.wrong("memory");
            for (w, b) in logged.iter().filter(|c| c.0) {
                let _ = w;
                known.remove(b);
            }
        } else if order_differs {
            *self.counts.entry("order differs").or_default() += 1;
        }
    }
}
