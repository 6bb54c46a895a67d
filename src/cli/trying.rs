//! `addfg formats --try LOG`: what each line of a log becomes, for a person who writes a layout.

use crate::diagnostics::Diagnostic;
use crate::event::{Carries, Condition, InsnDef, Isa, LoggedAccess, RegSpan, RunBatch, StepBatch};
use crate::registers::registers;
use crate::trace::input::Input;
use crate::trace::{Context, Found, Listener, Sink, StepFormat, TraceError, detect};
use anyhow::Context as _;
use std::fmt::Write;
use std::path::Path;

/// Problems that only the whole log has.
const OF_ALL: [&str; 2] = ["item-unused", "line-unused"];

/// What was asked for.
pub struct Asked<'a> {
    pub log: &'a Path,
    pub format: Option<&'a str>,
    pub layout: Option<&'a str>,
    pub isa: Option<Isa>,
    pub lines: usize,
}

/// Each of the first lines, above what it became.
pub fn text(asked: &Asked) -> anyhow::Result<String> {
    let name = asked.log.display().to_string();
    let input = Input::open(asked.log)?;
    let Found::Steps(format) = detect(&input, asked.format)? else {
        anyhow::bail!("{name}: its records are not steps; `addfg build` says what it cannot read");
    };
    let head = input.head().to_vec();
    let lines: Vec<&[u8]> = head.split_inclusive(|b| *b == b'\n').take(asked.lines).collect();
    let context = Context { isa: asked.isa, layout: asked.layout, jobs: 1 };
    let read = |lines: &[&[u8]]| Became::read(format, &name, &lines.concat(), &context);
    let (all, error) = read(&lines);
    let mut out = String::new();
    let mut before = Became::default();
    for (number, line) in lines.iter().enumerate() {
        writeln!(out, "| {}", String::from_utf8_lossy(line).trim_end())?;
        let (now, _) = read(&lines[..=number]);
        let from = out.len();
        now.since(&before, &mut out)?;
        if out.len() == from && !line.trim_ascii().is_empty() {
            let others: Vec<&[u8]> = [&lines[..number], &lines[number + 1..]].concat();
            let (without, _) = read(&others);
            let same = without.steps == all.steps && without.events == all.events;
            writeln!(
                out,
                "    {}",
                if same { "passed over" } else { "belongs to the step before" }
            )?;
        }
        before = now;
    }
    if let Some(error) = error.filter(|_| all.steps.is_empty()) {
        return Err(error).with_context(|| out);
    }
    for problem in all.problems.iter().filter(|(code, _)| OF_ALL.contains(code)) {
        writeln!(out, "{}: {}", problem.0, problem.1)?;
    }
    Ok(out)
}

/// What a reader made of some lines.
#[derive(Default)]
struct Became {
    isa: Option<Isa>,
    insns: Vec<InsnDef>,
    steps: Vec<String>,
    events: Vec<String>,
    problems: Vec<(&'static str, String)>,
}

impl Became {
    fn read(
        format: &dyn StepFormat,
        name: &str,
        text: &[u8],
        context: &Context,
    ) -> (Became, Option<TraceError>) {
        let mut became = Became { isa: context.isa, ..Became::default() };
        let read = Input::from_bytes(name, text)
            .and_then(|input| format.read(input, context, &mut became));
        (became, read.err())
    }

    /// What there is more than before.
    fn since(&self, before: &Became, out: &mut String) -> std::fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            match before.steps.get(i) {
                None => writeln!(out, "    step {step}")?,
                Some(old) if old != step => writeln!(out, "    of the step {step}")?,
                Some(_) => {}
            }
        }
        for event in self.events.get(before.events.len()..).unwrap_or_default() {
            writeln!(out, "    event {event}")?;
        }
        let of_lines = |became: &Became| {
            let all = became.problems.iter().filter(|(code, _)| !OF_ALL.contains(code));
            all.cloned().collect::<Vec<_>>()
        };
        for (code, message) in of_lines(self).into_iter().skip(of_lines(before).len()) {
            writeln!(out, "    {code} {message}")?;
        }
        Ok(())
    }

    fn register(&self, span: RegSpan) -> String {
        let file = registers(self.isa.unwrap_or(Isa::X86_64));
        match file.at(span.offset) {
            Some(register) if register.span.offset == span.offset => register.name.clone(),
            Some(register) => format!("{}+{}", register.name, span.offset - register.span.offset),
            None => format!("register {}", span.offset),
        }
    }
}

fn access(access: &LoggedAccess) -> String {
    let LoggedAccess { address, size, is_write, value } = *access;
    let value = value.map_or(String::new(), |value| format!(" = {value:#x}"));
    let size = if size == 0 { String::new() } else { format!(" {size} bytes") };
    format!(" {} {address:#x}{size}{value};", if is_write { "store" } else { "load" })
}

impl Listener for Became {
    fn diagnostic(&mut self, problem: Diagnostic) {
        let again = || "(again)".to_owned();
        let message = if problem.message.is_empty() { again() } else { problem.message };
        self.problems.push((problem.code, message));
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Became {
    fn begin(&mut self, _: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        self.isa = isa.or(self.isa);
        Ok(())
    }

    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.insns.append(&mut batch.new_insns);
        let (mut accesses, mut values) = (0, 0);
        for row in 0..batch.len() {
            let Some(insn) = self.insns.get(batch.insn[row] as usize) else { continue };
            let code: String = insn.bytes.iter().map(|b| format!("{b:02x}")).collect();
            let mut text =
                format!("{:#x} {code} `{}`", insn.address, insn.text.as_deref().unwrap_or(""));
            if batch.thread[row] != 0 {
                let _ = write!(text, " CPU {}", batch.thread[row]);
            }
            if batch.condition[row] == Condition::Failed {
                text += " without effect";
            }
            let (to, until) = (batch.access_end[row] as usize, batch.register_end[row] as usize);
            text.extend(batch.accesses[accesses..to].iter().map(access));
            for (span, value) in &batch.registers[values..until] {
                let _ = write!(text, " {} = {value:#x};", self.register(*span));
            }
            (accesses, values) = (to, until);
            self.steps.push(text);
        }
        self.events.extend(batch.events.iter().map(|(_, event)| format!("{event:?}")));
        batch.clear();
        Ok(())
    }

    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        let number = self.steps.len();
        self.steps.extend((0..batch.block.len()).map(|i| format!("run {}", number + i)));
        *batch = RunBatch::default();
        Ok(())
    }
}
