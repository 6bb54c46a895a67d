use super::listing::disassembly;
use super::*;
use crate::diagnostics::Diagnostic;
use crate::event::{InsnDef, Isa, RegSpan, RunBatch, StepBatch};
use crate::registers::registers;
use crate::trace::reader::Listener;
use crate::trace::{detect, formats};
use proptest::prelude::*;

/// Keeps all that a reader gives.
#[derive(Default)]
pub struct Collect {
    pub isa: Option<Isa>,
    pub carries: Carries,
    pub defs: Vec<InsnDef>,
    pub steps: Vec<Step>,
    /// Each with the number of the step before which it stands.
    pub events: Vec<(usize, crate::event::Event)>,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub insn: usize,
    pub thread: u32,
    pub accesses: Vec<crate::event::LoggedAccess>,
    pub registers: Vec<(RegSpan, u64)>,
}

impl Sink for Collect {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        (self.carries, self.isa) = (carries, isa);
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.defs.append(&mut batch.new_insns);
        let first = self.steps.len();
        self.events.extend(batch.events.drain(..).map(|(at, event)| (first + at as usize, event)));
        let (mut access, mut register) = (0, 0);
        for i in 0..batch.len() {
            let (access_end, register_end) =
                (batch.access_end[i] as usize, batch.register_end[i] as usize);
            assert!((batch.insn[i] as usize) < self.defs.len());
            self.steps.push(Step {
                insn: batch.insn[i] as usize,
                thread: batch.thread[i],
                accesses: batch.accesses[access..access_end].to_vec(),
                registers: batch.registers[register..register_end].to_vec(),
            });
            (access, register) = (access_end, register_end);
        }
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
        unreachable!("a reader of steps gives no runs")
    }
}
impl Listener for Collect {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
    fn progress(&mut self, _: u64) {}
}

impl Collect {
    pub fn read(
        format: &dyn StepFormat,
        bytes: &[u8],
        isa: Option<Isa>,
    ) -> Result<Collect, TraceError> {
        let context = Context { isa, layout: None, jobs: 1 };
        let mut collect = Collect::default();
        format.read(Input::from_bytes("log", bytes)?, &context, &mut collect)?;
        Ok(collect)
    }
    pub fn def(&self, step: usize) -> &InsnDef {
        &self.defs[self.steps[step].insn]
    }
    /// Registers of a step by name.
    pub fn registers(&self, step: usize) -> Vec<(String, u64)> {
        let file = registers(self.isa.unwrap());
        self.steps[step]
            .registers
            .iter()
            .map(|(s, v)| (file.at(s.offset).unwrap().name.clone(), *v))
            .collect()
    }
    pub fn codes(&self) -> Vec<&str> {
        self.diagnostics.iter().map(|d| d.code).collect()
    }
}

/// The format that detection finds, which is the only one that says yes.
pub fn only(bytes: &[u8]) -> &'static str {
    let found = detect(&Input::from_bytes("log", bytes).unwrap(), None).unwrap().format().name();
    assert_eq!(formats().filter(|f| f.sniff(bytes)).count(), 1);
    found
}

fn read(text: &str) -> Collect {
    Collect::read(&Qemu, text.as_bytes(), None).unwrap()
}

const THUMB: &str = "\
----------------
IN: main
0x0001012c:  b510       push     {r4, lr}

Trace 0: 0x7f09d40001c0 [00800480/0001012c/00000000/00000201] main
R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800960 R14=00010174 R15=0001012c
PSR=00000030 ---- T usr32
----------------
IN: main
0x0001012e:  f7ff ffd1  bl       #0x100dc

R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800958 R14=00010174 R15=0001012e
PSR=60000030 -ZC- T usr32
R00=00000000 R01=40800abc R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=0001117c R11=00000000
R12=00000000 R13=40800958 R14=00010133 R15=ffff0fe0
PSR=60000010 -ZC- A usr32
";

const RISCV32: &str = "\
----------------
IN: _start
0x000100f8:  1101              addi                    sp,sp,-32

 pc       000100f8
 x0/zero  00000000 x1/ra    00000000 x2/sp    40800980 x3/gp    00000000
 x4/tp    00000000 x5/t0    00000000 x6/t1    00000000 x7/t2    00000000
 x8/s0    00000000 x9/s1    00000000 x10/a0   00000000 x11/a1   0000000b
";

fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(n, v)| (n.to_string(), *v)).collect()
}

#[test]
fn arm_and_thumb_by_the_status_register() {
    let c = read(THUMB);
    assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::Arm), 3, vec![]));
    let def = |i: usize| {
        (c.def(i).address, c.def(i).bytes.clone(), c.def(i).thumb, c.def(i).text.as_deref())
    };
    assert_eq!(def(0), (0x1012c, vec![0x10, 0xb5], true, Some("push {r4, lr}")));
    assert_eq!(def(1), (0x1012e, vec![0xff, 0xf7, 0xd1, 0xff], true, Some("bl #0x100dc")));
    assert_eq!(def(2), (0xffff_0fe0, vec![], false, Some("<kernel helper>")));
    assert_eq!(c.steps[0].registers.len(), 17);
    assert_eq!(
        c.registers(1),
        named(&[("sp", 0x4080_0958), ("pc", 0x1012e), ("cpsr", 0x6000_0030)])
    );
    assert_eq!(
        c.registers(2),
        named(&[("lr", 0x10133), ("pc", 0xffff_0fe0), ("cpsr", 0x6000_0010)])
    );
    assert_eq!(only(THUMB.as_bytes()), "qemu");
}

/// A dump of the M profile, as `qemu-system-arm -M lm3s6965evb` writes it.
fn m_dump(r0: u32, sp: u32, pc: u32, xpsr: &str) -> String {
    format!(
        "R00={r0:08x} R01=00000000 R02=00000000 R03=00000000\n\
         R04=00000000 R05=00000000 R06=00000000 R07=00000000\n\
         R08=00000000 R09=00000000 R10=00000000 R11=00000000\n\
         R12=00000000 R13={sp:08x} R14=ffffffff R15={pc:08x}\nXPSR={xpsr}\n"
    )
}

#[test]
fn the_m_profile_is_thumb_and_says_its_mode_in_words_of_any_length() {
    let text = [
        m_dump(0, 0x2001_0000, 0x134, "41000000 -Z-- T priv-thread"),
        m_dump(1, 0x2000_ffe0, 0x140, "4100000f -Z-- T handler"),
        m_dump(1, 0x2001_0000, 0x136, "01000000 ---- T unpriv-thread"),
        m_dump(2, 0x2001_0000, 0x138, "01000000 ---- T unpriv-thread"),
    ];
    let c = read(&format!(
        "IN: Reset_Handler\n0x00000134:  b508       push     {{r3, lr}}\n\n{}",
        text.concat()
    ));
    assert_eq!((c.steps.len(), c.codes()), (4, vec![]));
    assert!(c.defs.iter().all(|def| def.thumb));
    assert_eq!(c.registers(1)[0], ("r0".into(), 1));
    assert_eq!(c.registers(1).len(), 4);
    assert_eq!(c.registers(3), named(&[("r0", 2), ("pc", 0x138)]));
    let broken = text[1].replace("R07=", "Q07=");
    assert_eq!(read(&(text[0].clone() + &broken + &text[2])).codes(), ["damaged-dump"]);
}

#[test]
fn segments_of_x86_may_get_longer() {
    let dump = |rip: u32, ds: &str| {
        format!(
            "RAX=0000000000000000 RBX=0000000000000000 RCX=0000000000000000 RDX=0000000000000000\n\
             RIP={rip:016x} RFL=00000246 [---Z-P-] CPL=3 II=0 A20=1 SMM=0 HLT=0\n\
             ES ={ds}\nDS ={ds}\nFS =0000 0000000000405380 00000000 00000000\n"
        )
    };
    let short = "0000 0000000000000000 00000000 00000000";
    let long = "002b 0000000000000000 ffffffff 00cff300 DPL=3 DS   [-WA]";
    let c = read(&[dump(0x401000, short), dump(0x401002, long), dump(0x401004, long)].concat());
    assert_eq!((c.steps.len(), c.codes()), (3, vec![]));
    assert_eq!(c.registers(1), named(&[("rip", 0x401002)]));
    assert_eq!(c.registers(2), named(&[("rip", 0x401004)]));
}

#[test]
fn each_cpu_has_its_dumps_and_a_number_used_again_is_another_thread() {
    let arm = |r7: u32, pc: u32| {
        m_dump(r7, 0x4080_0000, pc, "")
            .replace("R07=00000000", &format!("R07={r7:08x}"))
            .replace("XPSR=", "PSR=60000010 -ZC- A usr32")
    };
    let trace = |cpu: u32, pc: u32| {
        format!("Trace {cpu}: 0x7f09d40001c0 [00800480/{pc:08x}/00000000/00000201] f\n")
    };
    let exit = "IN: f\n0x00010010:  ef000000  svc      #0\n\n";
    let text = [
        trace(0, 0x10000),
        arm(5, 0x10000),
        trace(1, 0x10010),
        arm(6, 0x10000 + 0x10),
        // Both say that they go on before either does.
        trace(0, 0x10004),
        trace(1, 0x10014),
        arm(7, 0x10014),
        arm(5, 0x10004),
        exit.into(),
        trace(1, 0x10010),
        arm(1, 0x10010),
        trace(1, 0x10004),
        arm(9, 0x10004),
    ];
    let c = read(&text.concat());
    assert_eq!((c.carries.threads, c.codes()), (true, vec![]));
    let threads: Vec<u32> = c.steps.iter().map(|step| step.thread).collect();
    assert_eq!(threads, [0, 1, 1, 0, 1, 2]);
    let listed: Vec<usize> = c.steps.iter().map(|step| step.registers.len()).collect();
    assert_eq!(listed, [17, 17, 3, 1, 3, 17]);
    // Without announcements there is one thread, whatever the steps do.
    let c = read(&(exit.to_owned() + &arm(1, 0x10010) + &arm(9, 0x10004)));
    assert_eq!((c.carries.threads, c.steps[1].thread), (false, 0));
}

#[test]
fn riscv_width_by_the_digits_of_pc() {
    let c = read(RISCV32);
    assert_eq!((c.isa, c.def(0).bytes.as_slice()), (Some(Isa::Riscv32), &[0x01, 0x11][..]));
    assert!(
        c.registers(0).iter().any(|(_, v)| *v == 0x4080_0980)
            && c.registers(0).iter().any(|(_, v)| *v == 0xb)
    );
    let wide = RISCV32.replace(" 000", " 00000000000").replace(" 40800980", " 0000004040800980");
    let c = read(&wide);
    assert_eq!(c.isa, Some(Isa::Riscv64));
    assert!(c.registers(0).iter().any(|(_, v)| *v == 0x40_4080_0980));
    assert_eq!(only(wide.as_bytes()), "qemu");
}

#[test]
fn x86_with_long_instructions() {
    let dump = |rax: &str, rip: &str, ccs: &str| {
        format!(
            "RAX={rax} RBX=0000000000000000 RCX=0000000000000000 RDX=0000000000000000\n\
             R8 =0000000000000000 R9 =0000000000000009 R10=0000000000000000 R11=0000000000000000\n\
             RIP={rip} RFL=00000246 [---Z-P-] CPL=3 II=0 A20=1 SMM=0 HLT=0\n\
             FS =0000 0000000000405380 00000000 00000000\nCR0=80010001 CR2=0000000000000000\nCCS={ccs} CCO=EFLAGS\n"
        )
    };
    let text = format!(
        "----------------\nIN: \n0x00401000:  48 b8 88 77 66 55 44 33  movabsq  $0x1122334455667788, %rax\n\
         0x00401008:  22 11\n\n{}----------------\nIN: \n0x0040100a:  0f 05                    syscall  \n\n{}",
        dump("0000000000000000", "0000000000401000", "0"),
        dump("1122334455667788", "000000000040100a", "0000000000000000"),
    );
    let c = read(&text);
    assert_eq!((c.isa, c.steps.len(), c.codes()), (Some(Isa::X86_64), 2, vec![]));
    assert_eq!(c.def(0).bytes, [0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    assert_eq!(
        (c.def(1).bytes.as_slice(), c.def(1).text.as_deref()),
        (&[0x0f, 0x05][..], Some("syscall"))
    );
    assert!(
        c.registers(0).contains(&("fs_base".into(), 0x405380))
            && c.registers(0).contains(&("r9".into(), 9))
    );
    assert_eq!(c.registers(1), named(&[("rax", 0x1122_3344_5566_7788), ("rip", 0x40100a)]));
}

#[test]
fn aarch64_with_stack_pointer_and_flags() {
    let dump = |pc: u32, sp: u32, flags: &str| {
        format!(
            " PC={pc:016x} X00=0000000000000000 X01={:016x}\nX30=0000000000000007  SP={sp:016x}\nPSTATE={flags}\n",
            1
        )
    };
    let c = read(
        &(dump(0x400580, 0x850, "40000000 -Z-- EL0t")
            + &dump(0x400584, 0x840, "80000000 N--- EL0t")),
    );
    assert_eq!(c.isa, Some(Isa::Aarch64));
    assert!(c.def(0).bytes.is_empty() && c.def(0).text.is_none());
    assert!(
        c.registers(0).contains(&("x1".into(), 1)) && c.registers(0).contains(&("x30".into(), 7))
    );
    assert_eq!(c.registers(1), named(&[("pc", 0x400584), ("sp", 0x840), ("nzcv", 0x8000_0000)]));
}

#[test]
fn code_that_is_translated_again_is_new_only_if_it_differs() {
    let again = |code: &str, sp: &str| RISCV32.replace("1101 ", code).replace("40800980", sp);
    let c = read(&[RISCV32, &again("1101 ", "40800960"), &again("1121 ", "40800940")].concat());
    assert_eq!(c.steps.iter().map(|s| s.insn).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(c.defs[1].bytes, [0x21, 0x11]);
}

#[test]
fn a_dump_that_comes_again_is_one_step() {
    // What was kept from running is dumped again; a branch to itself runs again.
    assert_eq!(read(&[RISCV32, RISCV32].concat()).steps.len(), 1);
    let branch = RISCV32.replace("0x000100f8:  1101 ", "0x000100f8:  a001 ");
    assert_eq!(read(&[&branch[..], &branch].concat()).steps.len(), 2);
    let stopped = "Stopped execution of TB chain before 0x7f [000100f8] _start\n";
    assert_eq!(read(&[&branch[..], stopped, &branch].concat()).steps.len(), 1);
}

#[test]
fn several_instructions_a_block_are_refused_with_the_remedy() {
    let text =
        THUMB.replace("{r4, lr}\n", "{r4, lr}\n0x0001012e:  4c0f       ldr      r4, [pc, #0x3c]\n");
    let error = Collect::read(&Qemu, text.as_bytes(), None).err().unwrap().to_string();
    assert!(error.contains("-one-insn-per-tb") && error.contains("byte 17"), "{error}");
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let codes = |text: &str| {
        let c = read(text);
        (c.steps.len(), c.codes().join(" "))
    };
    assert_eq!(codes(&THUMB.replace("R15=0001012e", "R15=000?012e")), (2, "damaged-dump".into()));
    assert_eq!(
        codes(&THUMB.replace("R14=00010133 ", "R14=00010133 hello\n")),
        (2, "damaged-dump".into())
    );
    assert_eq!(codes(&THUMB[..THUMB.len() - 50]), (2, "truncated".into()));
    assert_eq!(codes(&format!("hello\nhello\n{THUMB}hello\n")), (3, "foreign-lines".into()));
    assert_eq!(
        codes(&THUMB.replace("PSR=00000030 ---- T usr32\n", "PSR=00000030 ---- T usr32\nhello\n"))
            .1,
        "foreign-lines"
    );
    assert!(Collect::read(&Qemu, b"IN: main\n", None).is_err());
}

#[test]
fn genuine_logs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/qemu");
    for (file, isa) in [("dexec-7.2-arm", Isa::Arm), ("dexec-7.2-thumb", Isa::Arm)] {
        let packed = std::fs::File::open(folder.join(format!("{file}.log.xz"))).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut liblzma::read::XzDecoder::new(packed), &mut bytes).unwrap();
        let c = Collect::read(&Qemu, &bytes, None).unwrap();
        let dumps = bytes.windows(5).filter(|w| w == b"\nR00=").count();
        assert_eq!(
            (c.isa, c.steps.len(), c.codes(), only(&bytes)),
            (Some(isa), dumps, vec![], "qemu")
        );
        let pc = registers(isa).pc.unwrap();
        for (i, step) in c.steps.iter().enumerate() {
            let logged = step.registers.iter().find(|r| r.0 == pc).map(|r| r.1);
            assert_eq!(logged.unwrap_or(c.def(i).address), c.def(i).address);
            assert!(!c.def(i).bytes.is_empty());
        }
    }
}

#[test]
fn where_chunks_end_changes_nothing() {
    let damaged = THUMB.replace("R15=0001012e", "R15=000?012e") + "hello\n";
    for text in
        [THUMB.repeat(3), RISCV32.repeat(3), [THUMB, &damaged, THUMB, &THUMB[..150]].concat()]
    {
        let whole = Collect::read(&Qemu, text.as_bytes(), None).unwrap();
        for chunk in 1..text.len() {
            let mut parts = Collect::default();
            super::read(Input::from_bytes("log", text.as_bytes()).unwrap(), chunk, &mut parts)
                .unwrap();
            assert_eq!(
                (&parts.steps, &parts.defs, parts.codes()),
                (&whole.steps, &whole.defs, whole.codes()),
                "{chunk}"
            );
        }
    }
}

proptest! {
    #[test]
    fn damaged_logs_never_panic(
        which in 0..2usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..20),
    ) {
        let mut bytes = [THUMB, RISCV32][which].repeat(3).into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"\n0=R "[byte as usize % 5]),
            }
        }
        let _ = Qemu.sniff(&bytes);
        let _ = Collect::read(&Qemu, &bytes, None);
    }
}

#[test]
fn listings() {
    let line =
        |s: &str| disassembly(s.as_bytes()).map(|(a, d, t)| (a, String::from_utf8(d).unwrap(), t));
    assert_eq!(
        line("0x00010164:  e92d4010  push     {r4, lr}"),
        Some((0x10164, "e92d4010 ".into(), "push {r4, lr}".into()))
    );
    assert_eq!(
        line("0x00010572:  f7ff fff7  bl       #0x10564"),
        Some((0x10572, "f7ff fff7 ".into(), "bl #0x10564".into()))
    );
    assert_eq!(line("0x004028b6:  00 00 00"), Some((0x4028b6, "00 00 00 ".into(), "".into())));
    assert_eq!(
        line("0x0001020a:  1101              addi  sp,sp,-32"),
        Some((0x1020a, "1101 ".into(), "addi sp,sp,-32".into()))
    );
    assert_eq!(line("R00=00000000"), None);
}
