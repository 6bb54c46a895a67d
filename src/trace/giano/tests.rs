use super::*;
use crate::diagnostics::Diagnostic;
use crate::event::{Isa, RunBatch, StepBatch};
use crate::trace::reader::Listener;

#[derive(Default)]
struct Rows {
    carries: Carries,
    batch: StepBatch,
    diagnostics: Vec<Diagnostic>,
}
impl Sink for Rows {
    fn begin(&mut self, carries: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        self.carries = carries;
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.batch = std::mem::take(batch);
        Ok(())
    }
    fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
        Ok(())
    }
}
impl Listener for Rows {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
    fn progress(&mut self, _: u64) {}
}

fn read(text: &str) -> Result<Rows, TraceError> {
    let context = Context { isa: Some(Isa::Arm), layout: None, jobs: 1 };
    let mut rows = Rows::default();
    Giano.read(Input::from_bytes("g", text.as_bytes())?, &context, &mut rows)?;
    Ok(rows)
}

#[test]
fn values_before_or_after_are_found_from_the_flags() {
    let after = "1 0 e3a00005 \"\" r0=5[W] r1=0\n2 4 e3a01006 \"\" r0=5 r1=6[W]\n3 8 e1a00001 \"\" r0=6[W] r1=6[R]\n";
    let rows = read(after).unwrap();
    assert!(!rows.carries.registers_before && rows.diagnostics.is_empty());
    let before = "1 0 e3a00005 \"\" r0=0[W] r1=0\n2 4 e3a01006 \"\" r0=5 r1=0[W]\n3 8 e1a00001 \"\" r0=5[W] r1=6[R]\n";
    let rows = read(before).unwrap();
    assert!(rows.carries.registers_before && rows.diagnostics.is_empty());
    // All in the first row, then what changed.
    assert_eq!(rows.batch.register_end, [2, 3, 4]);
    let one = read("1 0 e3a00005 \"\" r0=5[W]\n").unwrap();
    assert_eq!(one.diagnostics[0].code, "values-assumed");
    let error = read("1 0 e3a00005 \"\" r0=5\n").err().unwrap().to_string();
    assert!(error.contains("values=after"), "{error}");
}

#[test]
fn thumb_is_the_state_before_the_instruction() {
    let thumb = |text: &str| {
        read(text).unwrap().batch.new_insns.iter().map(|i| i.thumb).collect::<Vec<_>>()
    };
    let lines = |values: &str, psr: [&str; 3]| {
        format!(
            "# giano 1 values={values}\n1 0 e12fff10 \"bx r0\" cpsr={}\n2 8 f8df1004 \"ldr.w\" cpsr={}\n3 c 4770 \"bx lr\" cpsr={}\n",
            psr[0], psr[1], psr[2]
        )
    };
    assert_eq!(thumb(&lines("before", ["10", "30", "30"])), [false, true, true]);
    // The first line has none before it: its own must do, but for what changes it.
    let first = |opcode: &str, psr: &str| {
        thumb(&format!("# giano 1 values=after\n1 0 {opcode} \"\" cpsr={psr}\n"))
    };
    assert_eq!(first("fafffff4", "30"), [false]);
    assert_eq!(first("e12fff3e", "30"), [false]);
    assert_eq!(first("f7ffeffe", "10"), [true]);
    assert_eq!(first("f000f802", "30"), [true]);
    assert_eq!(first("ebfffffe", "10"), [false]);
    assert_eq!(thumb(&lines("after", ["10", "30", "30"])), [false, false, true]);
    // A log with odd addresses tells by them, also where nothing is said of a change.
    let odd = "# giano 1 values=after\n1 101 f8df1004 \"ldr.w\" cpsr=30\n2 104 e3a00005 \"mov\"\n3 109 f8df1004 \"ldr.w\"\n";
    assert_eq!(thumb(odd), [true, false, true]);
    let rows = read(&lines("before", ["10", "30", "30"])).unwrap();
    assert_eq!(rows.batch.new_insns[1].bytes, [0xdf, 0xf8, 0x04, 0x10]);
}

#[test]
fn values_that_a_line_repeats_are_not_listed_again() {
    let rows = read(
        "# giano 1 isa=arm values=after\n1 0 e3a00005 \"a\" r0=5[W] r1=1 cpsr=10\n2 4 e3a00005 \"b\" r0=5 r1=1[R] cpsr=10\n\
         3 8 e3a00005 \"c\" r0=51[R] r1=1 cpsr=30\n4 c 2005 \"d\" r1=1 r0=51 cpsr=30\n5 e 2005 \"e\" r1=1 r0=5 cpsr=30[R]\n",
    )
    .unwrap();
    let values: Vec<u64> = rows.batch.registers.iter().map(|r| r.1).collect();
    assert_eq!(
        (values, rows.batch.register_end),
        (vec![5, 1, 0x10, 0x51, 0x30, 5], vec![3, 3, 5, 5, 6])
    );
    let insns =
        rows.batch.new_insns.iter().map(|i| (i.thumb, i.log_registers.as_ref().map(|f| f.len())));
    let expected =
        [(false, Some(1)), (false, Some(1)), (false, Some(1)), (true, Some(0)), (true, Some(1))];
    assert_eq!(insns.collect::<Vec<_>>(), expected);
    for bad in ["r0=5[X]", "r0=5[R]1", "r0=5x"] {
        let rows = read(&format!(
            "# giano 1 isa=arm values=after\n1 0 e3a00005 \"a\" r0=5[W]\n2 4 e3a00005 \"b\" {bad}\n"
        ))
        .unwrap();
        assert_eq!((rows.batch.len(), rows.diagnostics[0].code), (1, "malformed-line"), "{bad}");
    }
}

#[test]
fn flags_make_instructions_of_their_own() {
    let rows = read(
        "# giano 1 isa=arm values=after\n1 0 03a00005 \"moveq r0, #5\" r0=0 cpsr=0[R]\n2 4 e1a00000 \"nop\" r0=0\n\
         3 0 03a00005 \"moveq r0, #5\" r0=5[W] cpsr=40000000[R]\n",
    )
    .unwrap();
    let flags: Vec<_> =
        rows.batch.new_insns.iter().map(|i| i.log_registers.as_ref().map(|f| f.len())).collect();
    assert_eq!(flags, [Some(1), Some(0), Some(2)]);
}

#[test]
fn a_cpu_is_written_with_or_without_a_blank() {
    for cpu in ["cpu3", "cpu 3", "cpu=3"] {
        let rows =
            read(&format!("# giano 1 isa=arm values=after\n1 {cpu} 0 e3a00005 \"mov\" r0=5[W]\n"))
                .unwrap();
        assert_eq!((rows.carries.threads, &rows.batch.thread[..]), (true, &[3][..]), "{cpu}");
    }
}
