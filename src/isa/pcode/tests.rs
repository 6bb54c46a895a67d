use std::collections::{BTreeMap, HashMap};

use super::*;

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
    decoder.instance(false);
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
                        .or_default() += 1
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
        // Registers.
        for register in self.file.all.iter().filter(|r| !r.control || Some(r.span) == self.file.sp)
        {
            let range =
                register.span.offset as usize..(register.span.offset + register.span.size) as usize;
            for b in range {
                if self.before[b] != self.after[b]
                    && !(executed
                        && d.writes.iter().any(|w| bytes_of(w.span).contains(&(b as u16))))
                {
                    self.wrong("undeclared write");
                    break;
                }
            }
        }
        let wrote = |w: &RegAccess| {
            &self.after[w.span.offset as usize..(w.span.offset + w.span.size) as usize]
        };
        if executed
            && !seen.iter().any(|s| !s.0)
            && d.memory.iter().all(|m| m.is_write)
            && d.success.is_none()
        {
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
        // Memory, byte by byte.
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
            for (i, b) in bytes_of(r).enumerate() {
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

/// `text | reads | writes | memory | flow`: control registers in brackets, `R4[r1+4]=r0` a load of
/// 4 bytes into r0 unchanged.
fn show(isa: Isa, d: &Decoded) -> String {
    let file = registers(isa);
    let name = |s: RegSpan| {
        let full = file.at(s.offset).map(|r| (r.name.clone(), r.span)).unwrap();
        if full.1 == s {
            full.0
        } else {
            format!("{}.{}+{}", full.0, s.offset - full.1.offset, s.size)
        }
    };
    fn expression(e: &Expr, name: &dyn Fn(RegSpan) -> String) -> String {
        match e {
            Expr::Const(c) if (*c as i64) < 0 => format!("-{:#x}", c.wrapping_neg()),
            Expr::Const(c) => format!("{c:#x}"),
            Expr::Reg(r) => name(*r),
            Expr::Bin(op, a, b) => {
                format!("({} {op:?} {})", expression(a, name), expression(b, name)).to_lowercase()
            }
            Expr::Extend(signed, bits, a) => {
                format!("{}{bits}{}", if *signed { 's' } else { 'u' }, expression(a, name))
            }
            Expr::Unknown => "?".to_string(),
        }
    }
    let list = |all: &[RegAccess]| {
        let names = all
            .iter()
            .map(|a| if a.control { format!("[{}]", name(a.span)) } else { name(a.span) });
        names.collect::<Vec<_>>().join(" ")
    };
    let memory: Vec<String> = d
        .memory
        .iter()
        .map(|m| {
            let guard = m
                .guard
                .as_ref()
                .map(|g| format!(" if {}", expression(g, &name)))
                .unwrap_or_default();
            let data = m.data_register.map(|r| format!("={}", name(r))).unwrap_or_default();
            let marks = format!(
                "{}{}",
                if m.stack_relative { " stack" } else { "" },
                if m.control { " control" } else { "" }
            );
            format!(
                "{}{}[{}]{data}{marks}{guard}",
                if m.is_write { 'W' } else { 'R' },
                m.size,
                expression(&m.address, &name)
            )
        })
        .collect();
    let mut flow = d.flow.kind.name().to_string();
    if let Some(t) = d.flow.target {
        flow += &format!(" {t:#x}");
    }
    if d.flow.conditional {
        flow += " conditional";
    }
    if let Some((r, v)) = d.success {
        flow += &format!(" success {}={v}", name(r));
    }
    if d.condition.is_some() {
        flow += " if";
    }
    format!(
        "{} | {} | {} | {} | {flow}",
        d.text,
        list(&d.reads),
        list(&d.writes),
        memory.join(", ")
    )
}

const A32: &[(&str, &str)] = &[
    ("020091e0", "adds r0,r1,r2 | r1 r2 | r0 [cpsr] |  | next"),
    ("010021e0", "eor r0,r1,r1 |  | r0 |  | next"),
    ("8101b0e1", "movs r0,r1, lsl #0x3 | r1 | r0 [cpsr] |  | next"),
    ("0100b0e1", "movs r0,r1 | r1 | r0 [cpsr] |  | next"),
    (
        "1080bde8",
        "ldmia sp!,{r4,pc} | [sp] | r4 [sp] | R4[sp]=r4 stack, R4[u32(sp add 0x4)] stack control | return",
    ),
    ("04f09de4", "ldr pc,[sp],#0x4 | [sp] | [sp] | R4[sp] stack control | return"),
    (
        "1080bd08",
        "ldmiaeq sp!,{r4,pc} | [sp] [cpsr] | r4 [sp] | R4[sp]=r4 stack, R4[u32(sp add 0x4)] stack control | return conditional if",
    ),
    (
        "10402de9",
        "stmdb sp!,{r4,lr} | r4 [sp] lr | [sp] | W4[u32(sp add -0x8)]=r4 stack, W4[u32(sp add -0x4)]=lr stack | next",
    ),
    ("1eff2fe1", "bx lr | [lr] |  |  | return"),
    ("0ef0a0e1", "mov pc,lr | [lr] |  |  | return"),
    ("1eff2f01", "bxeq lr | [lr] [cpsr] |  |  | return conditional"),
    ("910f82e1", "strex r0,r1,[r2] | r1 r2 | r0 | W4[r2]=r1 | next success r0=0"),
    ("9f1f92e1", "ldrex r1,[r2] | r2 | r1 | R4[r2]=r1 | next"),
    ("9f2fb4e1", "ldrexd r2,r3,[r4] | r4 | r2 r3 | R4[r4]=r2, R4[u32(r4 add 0x4)]=r3 | next"),
    ("000b91ed", "vldr.64 d0,[r1] | r1 | q0.0+8 | R8[r1]=q0.0+8 | next"),
    ("010ad1ed", "vldr.32 s1,[r1,#0x4] | r1 | q0.4+4 | R4[u32(r1 add 0x4)]=q0.4+4 | next"),
    ("810a30ee", "vadd.f32 s0,s1,s2 | q0.4+8 | q0.0+4 |  | next"),
    (
        "048bb0ec",
        "vldmia r0!,{d8-d9} | r0 | r0 q4.0+8 q4.8+8 | R8[r0]=q4.0+8, R8[u32(r0 add 0x8)]=q4.8+8 | next",
    ),
    ("900a10ee", "vmov r0,s1 | q0.4+4 | r0 |  | next"),
    ("900a00ee", "vmov s1,r0 | r0 | q0.4+4 |  | next"),
    ("10faf1ee", "vmrs apsr,fpscr | [fpscr] | [cpsr] |  | next"),
    ("410bb4ee", "vcmp.f64 d0,d1 | [fpscr] q0 | [fpscr] |  | next"),
    ("440822f2", "vadd.i32 q0,q1,q2 | q1 q2 | q0 |  | next"),
    ("540d02f2", "vmla.f32 q0,q1,q2 | q0 q1 q2 | q0 |  | next"),
    (
        "0d0a00f4",
        "vst1.8 {d0,d1},[r0]! | r0 q0.0+8 q0.8+8 | r0 | W8[r0]=q0.0+8, W8[u32(r0 add 0x8)]=q0.8+8 | next",
    ),
    ("d000c2e1", "ldrd r0,r1,[r2,#0x0] | r2 | r0 r1 | R4[r2]=r0, R4[u32(r2 add 0x4)]=r1 | next"),
    (
        "f800e2e1",
        "strd r0,r1,[r2,#0x8]! | r0 r1 r2 | r2 | W4[u32(r2 add 0x8)]=r0, W4[u32(r2 add 0xc)]=r1 | next",
    ),
    ("01f18fe0", "add pc,pc,r1, lsl #0x2 | r1 |  |  | jump"),
    (
        "03f19f97",
        "ldrls pc,[pc,r3,lsl #0x2] | r3 [cpsr] |  | R4[u32((r3 shl 0x2) add 0x8008)] | jump conditional if",
    ),
    ("010040e3", "movt r0,#0x1 | r0 | r0 |  | next"),
    ("000000ef", "swi 0x0 |  | r0 |  | syscall"),
    ("000000eb", "bl 0x8008 |  | lr |  | call 0x8008"),
    ("0000001b", "blne 0x8008 | [cpsr] | lr |  | call 0x8008 conditional if"),
    ("0000000a", "beq 0x8008 | [cpsr] |  |  | jump 0x8008 conditional"),
    ("120381e0", "add r0,r1,r2, lsl r3 | r1 r2 r3 | r0 |  | next"),
    ("00000fe1", "mrs r0,cpsr | [cpsr] | r0 |  | next"),
    ("700f1dee", "mrc p15,0x0,r0,cr13,cr0,0x3 |  | r0 |  | next"),
    ("110f6fe1", "clz r0,r1 | r1 | r0 |  | next"),
    ("920381e0", "umull r0,r1,r2,r3 | r2 r3 | r0 r1 |  | next"),
    ("920f51e6", "uadd8 r0,r1,r2 | r1 r2 | r0 [cpsr] |  | next"),
    ("b20f81e6", "sel r0, r1, r2 | r1 r2 [cpsr] | r0 |  | next"),
    (
        "0f0020f4",
        "vld4.8 {d0,d1,d2,d3},[r0] | r0 | q0.0+8 q0.8+8 q1.0+8 q1.8+8 | R8[r0], R8[u32(r0 add 0x8)], R8[u32(r0 add 0x10)], R8[u32(r0 add 0x18)] | next",
    ),
    ("08109fe5", "ldr r1,[0x8010] |  | r1 | R4[0x8010]=r1 | next"),
    ("0000e0e0", "rsc r0,r0,r0 | r0 [cpsr] | r0 |  | next"),
    (
        "108b2ded",
        "vstmdb sp!,{d8-d15} | [sp] q4.0+8 q4.8+8 q5.0+8 q5.8+8 q6.0+8 q6.8+8 q7.0+8 q7.8+8 | [sp] | W8[u32(sp add -0x40)]=q4.0+8 stack, W8[u32(sp add -0x38)]=q4.8+8 stack, W8[u32(sp add -0x30)]=q5.0+8 stack, W8[u32(sp add -0x28)]=q5.8+8 stack, W8[u32(sp add -0x20)]=q6.0+8 stack, W8[u32(sp add -0x18)]=q6.8+8 stack, W8[u32(sp add -0x10)]=q7.0+8 stack, W8[u32(sp add -0x8)]=q7.8+8 stack | next",
    ),
    ("13ff2fe1", "bx r3 | r3 |  |  | jump"),
    ("00f093e5", "ldr pc,[r3,#0x0] | r3 |  | R4[r3] | jump"),
    ("01004100", "subeq r0,r1,r1 | [cpsr] | r0 |  | next if"),
    ("33ff2fe1", "blx r3 | r3 | lr |  | call"),
    ("8200f1e7", "ldrb r0,[r1,r2,lsl #0x1]! | r1 r2 | r0 r1 | R1[u32(r1 add (r2 shl 0x1))] | next"),
    ("000080e5", "str r0,[r0,#0x0] | r0 |  | W4[r0] | next"),
    (
        "00a81be9",
        "ldmdb r11,{r11,sp,pc} | r11 | r11 [sp] | R4[u32(r11 add -0xc)], R4[u32(r11 add -0x8)]=sp, R4[u32(r11 add -0x4)] control | return",
    ),
    (
        "430582f4",
        "vst2.16 {d0[0x1],d1[0x1]},[r2],r3 | r2 r3 q0.2+2 q0.10+2 | r2 | W2[r2]=q0.2+2, W2[u32(r2 add 0x2)]=q0.10+2 | next",
    ),
    ("101b42ec", "vmov d0,r1,r2 | r1 r2 | q0.0+8 |  | next"),
    ("700020e1", "bkpt #0x0 |  |  |  | trap"),
    ("f000f0e7", "udf #0x0 |  |  |  | trap"),
    ("913220e0", "mla r0,r1,r2,r3 | r1 r2 r3 | r0 |  | next"),
    (
        "04402d05",
        "streq r4,[sp,#-0x4]! | r4 [sp] [cpsr] | [sp] | W4[u32(sp add 0xfffffffc)]=r4 stack | next if",
    ),
    ("8100baf3", "vtrn.32 d0,d1 | q0 | q0 |  | next"),
    ("11f280e7", "usad8 pc, r1, r2 | r1 r2 | r0 |  | next"),
];

const T32: &[(&str, &str)] = &[
    ("08bf", "it eq |  | [cpsr] |  | next"),
    ("0846", "mov r0,r1 | r1 | r0 |  | next if"),
    ("8818", "adds r0,r1,r2 | r1 r2 | r0 [cpsr] |  | next if"),
    ("0844", "add r0,r1 | r0 r1 | r0 |  | next if"),
    ("0800", "movs r0,r1 | r1 | r0 [cpsr] |  | next if"),
    ("0248", "ldr r0,[0x800c] |  | r0 | R4[0x800c]=r0 | next if"),
    ("0198", "ldr r0,[sp,#0x4] | [sp] | r0 | R4[u32(sp add 0x4)]=r0 stack | next if"),
    (
        "10b5",
        "push {r4,lr} | r4 [sp] lr | [sp] | W4[u32(sp add -0x8)]=r4 stack, W4[u32(sp add -0x4)]=lr stack | next if",
    ),
    (
        "10bd",
        "pop {r4,pc} | [sp] | r4 [sp] | R4[sp]=r4 stack, R4[u32(sp add 0x4)] stack control | return if",
    ),
    ("7047", "bx lr | [lr] |  |  | return if"),
    ("1847", "bx r3 | r3 |  |  | jump if"),
    ("9847", "blx r3 | r3 | lr |  | call if"),
    ("00f002f8", "bl 0x8008 |  | lr |  | call 0x8008 if"),
    ("00f002e8", "blx 0x8008 |  | lr |  | call 0x8008 if"),
    ("02e0", "b 0x8008 |  |  |  | jump 0x8008 if"),
    ("02d0", "beq 0x8008 | [cpsr] |  |  | jump 0x8008 conditional"),
    ("10b1", "cbz r0,0x8008 | r0 |  |  | jump 0x8008 conditional"),
    ("dfe801f0", "tbb [pc,r1] | r1 |  | R1[u32(r1 add 0x8004)] | jump if"),
    ("dfe811f0", "tbh [pc,r1] | r1 |  | R2[u32((r1 mul 0x2) add 0x8004)] | jump if"),
    ("06c8", "ldmia r0!,{r1,r2} | r0 | r0 r1 r2 | R4[r0]=r1, R4[u32(r0 add 0x4)]=r2 | next if"),
    ("06c0", "stmia r0!,{r1,r2} | r0 r1 r2 | r0 | W4[r0]=r1, W4[u32(r0 add 0x4)]=r2 | next if"),
    ("5df804fb", "pop.w pc | [sp] | [sp] | R4[sp] stack control | return if"),
    ("51f8040d", "ldr.w r0,[r1,#-0x4]! | r1 | r0 r1 | R4[u32(r1 add -0x4)]=r0 | next if"),
    (
        "c2e90201",
        "strd r0,r1,[r2,#0x8] | r0 r1 r2 |  | W4[u32(r2 add 0x8)]=r0, W4[u32(r2 add 0xc)]=r1 | next if",
    ),
    ("42e80010", "strex r0,r1,[r2,#0x0] | r1 r2 | r0 | W4[r2]=r1 | next success r0=0 if"),
    ("00df", "svc 0x0 |  | r0 |  | syscall if"),
    ("00de", "udf #0x0 |  |  |  | trap if"),
    ("18bf", "it ne |  | [cpsr] |  | next"),
    ("f746", "mov pc,lr | [lr] |  |  | return if"),
    ("fe46", "mov lr,pc |  | lr |  | next if"),
    ("81ea0100", "eor.w r0,r1,r1 |  | r0 |  | next if"),
    ("40f20100", "movw r0,#0x1 |  | r0 |  | next if"),
    ("91ed000b", "vldr.64 d0,[r1] | r1 | q0.0+8 | R8[r1]=q0.0+8 | next if"),
    (
        "2ded028b",
        "vstmdb sp!,{d8} | [sp] q4.0+8 | [sp] | W8[u32(sp add -0x8)]=q4.0+8 stack | next if",
    ),
    ("00bf", "nop |  |  |  | next if"),
];

const A64: &[(&str, &str)] = &[
    ("2000020b", "add w0, w1, w2 | x1.0+4 x2.0+4 | x0 |  | next"),
    ("200002ab", "adds x0, x1, x2 | x1 x2 | x0 [nzcv] |  | next"),
    ("2000014a", "eor w0, w1, w1 |  | x0 |  | next"),
    ("207862b8", "ldr w0, [x1, x2, lsl #0x2] | x1 x2 | x0 | R4[(x1 add (x2 shl 0x2))] | next"),
    ("e00b40b9", "ldr w0, [sp, #0x8] | [sp] | x0 | R4[(sp add 0x8)] stack | next"),
    (
        "e00f1fb8",
        "str w0, [sp, #-0x10]! | x0.0+4 [sp] | [sp] | W4[(sp add -0x10)]=x0.0+4 stack | next",
    ),
    (
        "fd7bc2a8",
        "ldp x29, x30, [sp], #0x20 | [sp] | x29 x30 [sp] | R8[sp]=x29 stack, R8[(sp add 0x8)]=x30 stack | next",
    ),
    ("000400ad", "stp q0, q1, [x0] | x0 v0 v1 |  | W16[x0]=v0, W16[(x0 add 0x10)]=v1 | next"),
    ("200040fd", "ldr d0, [x1] | x1 | v0 | R8[x1] | next"),
    ("200000fd", "str d0, [x1] | x1 v0.0+8 |  | W8[x1]=v0.0+8 | next"),
    ("2000c03d", "ldr q0, [x1] | x1 | v0 | R16[x1]=v0 | next"),
    ("2028621e", "fadd d0, d1, d2 | v1.0+8 v2.0+8 | v0 |  | next"),
    ("20cc224e", "fmla v0.4s, v1.4s, v2.4s | v0 v1 v2 | v0 |  | next"),
    ("0004004f", "movi v0.4s, #0x0 |  | v0 |  | next"),
    ("20fcdf88", "ldar w0, [x1] | x1 | x0 | R4[x1] | next"),
    ("20fcdf08", "ldarb w0, [x1] | x1 | x0 | R1[x1] | next"),
    ("20fc9f88", "stlr w0, [x1] | x0.0+4 x1 |  | W4[x1]=x0.0+4 | next"),
    ("20fc5f88", "ldaxr w0, [x1] | x1 | x0 | R4[x1] | next"),
    ("20fc0288", "stlxr w2, w0, [x1] | x0.0+4 x1 | x2 | W4[x1]=x0.0+4 | next success x2=0"),
    (
        "231022c8",
        "stxp w2, x3, x4, [x1] | x1 x3 x4 | x2 | W8[x1]=x3, W8[(x1 add 0x8)]=x4 | next success x2=0",
    ),
    ("417ca0c8", "cas x0, x1, [x2] | x0 x1 x2 | x0 | R8[x2], W8[x2]=x1 if ? | next"),
    ("41fce088", "casal w0, w1, [x2] | x0.0+4 x1.0+4 x2 | x0 | R4[x2], W4[x2]=x1.0+4 if ? | next"),
    ("410020b8", "ldadd w0, w1, [x2] | x0.0+4 x2 | x1 | R4[x2], W4[x2] | next"),
    ("418020b8", "swp w0, w1, [x2] | x0.0+4 x2 | x1 | R4[x2], W4[x2]=x0.0+4 | next"),
    ("2000829a", "csel x0, x1, x2, eq | x1 x2 [nzcv] | x0 |  | next"),
    ("041843fa", "ccmp x0, #0x3, #0x4, ne | x0 [nzcv] | [nzcv] |  | next"),
    ("1f0001eb", "cmp x0, x1 | x0 x1 | [nzcv] |  | next"),
    ("40000054", "b.eq 0x8008 | [nzcv] |  |  | jump 0x8008 conditional"),
    ("40000034", "cbz w0, 0x8008 | x0.0+4 |  |  | jump 0x8008 conditional"),
    ("40001836", "tbz w0, #0x3, 0x8008 | x0.0+4 |  |  | jump 0x8008 conditional"),
    ("c0035fd6", "ret | [x30] |  |  | return"),
    ("60001fd6", "br x3 | x3 |  |  | jump"),
    ("60003fd6", "blr x3 | x3 | x30 |  | call"),
    ("02000094", "bl 0x8008 |  | x30 |  | call 0x8008"),
    ("010000d4", "svc 0x0 |  | x0 |  | syscall"),
    ("200020d4", "brk #0x1 |  |  |  | trap"),
    ("00000090", "adrp x0, 0x8000 |  | x0 |  | next"),
    ("80000058", "ldr x0, 0x8010 |  | x0 | R8[0x8010]=x0 | next"),
    (
        "00a0df4c",
        "ld1 {v0.16b, v1.16b}, [x0], #0x20 | x0 | x0 v0 v1 | R16[x0]=v0, R16[(x0 add 0x10)]=v1 | next",
    ),
    ("000c000d", "st1 {v0.b}[3], [x0] | x0 v0.3+1 |  | W1[x0]=v0.3+1 | next"),
    ("00c8404d", "ld1r {v0.4s}, [x0] | x0 | v0 | R4[x0] | next"),
    ("20740bd5", "dc zva, x0 | x0 |  | W64[(x0 and -0x40)] | next"),
    ("000080f9", "prfm pldl1keep, [x0] | x0 |  |  | next"),
    ("40d03bd5", "mrs x0, tpidr_el0 |  | x0 |  | next"),
    ("601c184e", "mov v0.d[0x1], x3 | x3 | v0.8+8 |  | next"),
    ("203c0a0e", "umov w0, v1.h[0x2] | v1.4+2 | x0 |  | next"),
    ("0000679e", "fmov d0, x0 | x0 | v0 |  | next"),
    ("2098204e", "cmeq v0.16b, v1.16b, #0 | v1 | v0 |  | next"),
    ("2038706e", "uaddlv s0, v1.8h | v1 | v0 |  | next"),
    ("20b8f15e", "addp d0, v1.2d | v1 | v0 |  | next"),
    ("2000024e", "tbl v0.16b, {v1.16b}, v2.16b | v1 v2 | v0 |  | next"),
    ("200080b9", "ldrsw x0, [x1] | x1 | x0 | R4[x1] | next"),
    ("40044069", "ldpsw x0, x1, [x2] | x2 | x0 x1 | R4[x2], R4[(x2 add 0x4)] | next"),
    ("0000621e", "scvtf d0, w0 | x0.0+4 | v0 |  | next"),
    ("2000781e", "fcvtzs w0, d1 | v1.0+8 | x0 |  | next"),
    ("0020611e", "fcmp d0, d1 | v0.0+8 v1.0+8 | [nzcv] |  | next"),
    ("200c029b", "madd x0, x1, x2, x3 | x1 x2 x3 | x0 |  | next"),
    ("200c1d33", "bfm w0, w1, #0x1d, #0x3 | x0.0+4 x1.0+4 | x0 |  | next"),
    ("0080004c", "st2 {v0.16b, v1.16b}, [x0] | x0 v0 v1 |  | W16[x0], W16[(x0 add 0x10)] | next"),
    ("20c0bff8", "ldapr x0, [x1] | x1 | x0 | R8[x1] | next"),
    ("2014624e", "srhadd v0.8h, v1.8h, v2.8h | v1 v2 | v0 |  | next"),
    ("20cce24e", "fmls v0.2d, v1.2d, v2.2d | v0 v1 v2 | v0 |  | next"),
    ("00423bd5", "mrs x0, nzcv | [nzcv] | x0 |  | next"),
];

const RV64: &[(&str, &str)] = &[
    ("3385c500", "add a0,a1,a2 | x11 x12 | x10 |  | next"),
    ("3b85c500", "addw a0,a1,a2 | x11.0+4 x12.0+4 | x10 |  | next"),
    ("33c5b500", "xor a0,a1,a1 |  | x10 |  | next"),
    ("2245", "c.lwsp a0,0x8(sp) | [x2] | x10 | R4[(x2 add 0x8)] stack | next"),
    ("0264", "c.ldsp s0,0x0(sp) | [x2] | x8 | R8[x2]=x8 stack | next"),
    ("06e4", "c.sdsp ra,0x8(sp) | x1 [x2] |  | W8[(x2 add 0x8)]=x1 stack | next"),
    ("c8c1", "c.sw a0,0x4(a1) | x10.0+4 x11 |  | W4[(x11 add 0x4)]=x10.0+4 | next"),
    ("07a50500", "flw fa0,0x0(a1) | x11 | f10 | R4[x11] | next"),
    ("8821", "c.fld fa0,0x0(a1) | x11 | f10 | R8[x11]=f10 | next"),
    ("22a0", "c.fsdsp fs0,0x0(sp) | [x2] f8 |  | W8[x2]=f8 stack | next"),
    ("53f5c502", "fadd.d fa0,fa1,fa2,dyn | f11 f12 | f10 |  | next"),
    ("53f5c500", "fadd.s fa0,fa1,fa2,dyn | f11.0+4 f12.0+4 | f10 |  | next"),
    ("53a5c5a2", "feq.d a0,fa1,fa2 | f11 f12 | x10 |  | next"),
    ("ef008000", "jal ra,0x8008 |  | x1 |  | call 0x8008"),
    ("6f008000", "j 0x8008 |  |  |  | jump 0x8008"),
    ("67800000", "ret | [x1] |  |  | return"),
    ("e7800700", "jalr ra,a5,0x0 | x15 | x1 |  | call"),
    ("8280", "ret | [x1] |  |  | return"),
    ("8287", "c.jr a5 | x15 |  |  | jump"),
    ("6304b500", "beq a0,a1,0x8008 | x10 x11 |  |  | jump 0x8008 conditional"),
    ("2fa50510", "lr.w a0,(a1) | x11 | x10 | R4[x11] | next"),
    ("2fa5c518", "sc.w a0,a2,(a1) | x11 x12.0+4 | x10 | W4[x11]=x12.0+4 | next success x10=0"),
    ("2fb0c518", "sc.d zero,a2,(a1) | x11 x12 |  | W8[x11]=x12 | next"),
    ("2f25b600", "amoadd.w a0,a1,(a2) | x11.0+4 x12 | x10 | R4[x12], W4[x12] | next"),
    ("2f35b608", "amoswap.d a0,a1,(a2) | x11 x12 | x10 | R8[x12]=x10, W8[x12]=x11 | next"),
    ("2f25b6a0", "amomax.w a0,a1,(a2) | x11.0+4 x12 | x10 | R4[x12], W4[x12] | next"),
    ("73000000", "ecall |  | x10 |  | syscall"),
    ("0290", "c.ebreak |  |  |  | trap"),
    ("73251000", "frflags a0 | [fcsr] | x10 |  | next"),
    ("73253000", "frcsr a0 | [fcsr] | x10 |  | next"),
    ("73102500", "fsrm a0 | x10.0+1 [fcsr] | [fcsr] |  | next"),
    ("0d45", "c.li a0,0x3 |  | x10 |  | next"),
    ("17150000", "auipc a0,0x1 |  | x10 |  | next"),
    ("03850500", "lb a0,0x0(a1) | x11 | x10 | R1[x11] | next"),
    ("2380a500", "sb a0,0x0(a1) | x10.0+1 x11 |  | W1[x11]=x10.0+1 | next"),
    ("0f00f00f", "fence 0xf,0xf |  |  |  | next"),
    ("3385c502", "mul a0,a1,a2 | x11 x12 | x10 |  | next"),
    ("33d5c502", "divu a0,a1,a2 | x11 x12 | x10 |  | next"),
    ("530505d2", "fcvt.d.w fa0,a0 | x10.0+4 | f10 |  | next"),
    ("530505e0", "fmv.x.w a0,fa0 | f10.0+4 | x10 |  | next"),
    ("5385b522", "fmv.d fa0,fa1 | f11 | f10 |  | next"),
];

/// Ways back from an exception, and instructions with similar opcodes that are none.
#[test]
fn exception_returns_are_told_from_returns() {
    let kind = |isa, thumb, word: u32| {
        let bytes = match thumb && word > 0xffff {
            true => (word << 16 | word >> 16).to_le_bytes(),
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

/// Opcodes in memory order at 0x8000 and what [`show`] says of them.
#[test]
fn instructions_touch_what_the_manuals_say() {
    for (isa, thumb, table) in [
        (Isa::Arm, false, A32),
        (Isa::Arm, true, T32),
        (Isa::Aarch64, false, A64),
        (Isa::Riscv64, false, RV64),
    ] {
        let mut decoder = Pcode::new(isa, false);
        for (hex, expected) in table {
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
                .collect();
            let decoded = decoder.decode(0x8000, &bytes, thumb).expect(hex);
            assert_eq!(show(isa, &decoded), *expected, "{hex}");
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
                eval(&condition_holds(cpsr, condition as u32), flags << 28),
                *held,
                "{condition} {flags:x}"
            );
            // IT[7:4] is the condition, IT[3:0] not 0 inside a block; IT[7:2] is in bits 15:10,
            // IT[1:0] in 26:25.
            for rest in [1u64, 2, 4, 8, 15] {
                let it = (condition as u64) << 4 | rest;
                let value = flags << 28 | (it & 3) << 25 | (it >> 2) << 10 | 0x30;
                assert_eq!(eval(&it_holds(cpsr), value), *held, "IT {it:x} {flags:x}");
            }
        }
        assert!(eval(&it_holds(cpsr), flags << 28 | 0x30));
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
                let registers = registers_in(&m.address);
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
