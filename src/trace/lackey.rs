//! Valgrind lackey, `--trace-mem=yes`.
use super::*;
pub struct Lackey;
impl Format for Lackey {
    fn name(&self) -> &'static str {
        "lackey"
    }
    fn about(&self) -> &'static str {
        "valgrind's lackey tool with --trace-mem=yes"
    }
    fn record(&self) -> &'static str {
        "valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=app.log ./app"
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, accesses: true, ..Carries::default() }
    }
    fn sniff(&self, _head: &[u8]) -> bool {
        todo!()
    }
    fn help(&self) -> &'static str {
        ""
    }
    fn read(&self, _input: input::Input, _context: &Context, _sink: &mut dyn Sink) -> Result<(), TraceError> {
        todo!()
    }
}
