//! From batches to rows: addresses of accesses from register values, and the streaming pass.

use crate::inputs::{JPEG, Keep, Null, Recording, repository};
use addfg::internals::analysis::access::SaveRule;
use addfg::internals::analysis::pass::{FrameSlot, Pass, Processor};
use addfg::internals::analysis::{
    Call, CodeMap, Communication, Details, Flow, Interval, Options, Output, SavedRegister,
};
use addfg::internals::event::{Isa, RunBatch};
use addfg::internals::id::FunctionId;
use addfg::internals::image::{AddressSpace, FunctionRef, Image, Loaded};
use addfg::internals::isa::elaborate::Elaborator;
use addfg::internals::isa::resolve::resolve;
use addfg::internals::isa::{self, Decoded};
use addfg::internals::trace::Sink;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use std::collections::HashMap;

/// Functions by address.
#[derive(Clone)]
struct Map<'a> {
    space: &'a AddressSpace,
    ids: HashMap<Option<FunctionRef>, FunctionId>,
}

impl CodeMap for Map<'_> {
    fn function_at(&mut self, address: u64) -> FunctionId {
        let next = FunctionId::at(self.ids.len());
        *self.ids.entry(self.space.function_at(address)).or_insert(next)
    }
    fn entry(&self, _: FunctionId) -> Option<u64> {
        None
    }
    fn is_stub(&self, _: FunctionId) -> bool {
        false
    }
    fn is_through(&self, _: FunctionId) -> bool {
        false
    }
    fn is_kept(&self, _: FunctionId) -> bool {
        false
    }
}

/// Counts rows.
#[derive(Default)]
struct Count(u64);

impl Output for Count {
    fn communication(&mut self, _: Communication) {
        self.0 += 1;
    }
    fn call(&mut self, _: Call, _: Option<u64>) {
        self.0 += 1;
    }
    fn interval(&mut self, _: Interval) {
        self.0 += 1;
    }
    fn saved_register(&mut self, _: SavedRegister) {
        self.0 += 1;
    }
    fn flow(&mut self, _: Flow) {
        self.0 += 1;
    }
    fn folded_call(&mut self, _: addfg::internals::analysis::FoldedCall) {}
}

/// The pass over the JPEG recording, with the rows that each --detail asks for.
#[divan::bench(args = ["instance", "pairs", "full"], sample_count = 8, sample_size = 1)]
fn streaming(bencher: Bencher, detail: &str) {
    let recording = Recording::repeat("pass", &JPEG, None, None).expect("lackey");
    let mut log = Keep::default();
    recording.read(1, &mut log);
    let mut null = Null::default();
    recording.read(1, &mut null);
    let image = Image::open(&repository("examples/jpeg/jpeg")).expect("the shipped program");
    let isa = image.isa;
    let space = AddressSpace::new(vec![Loaded { image: image.into(), bias: 0 }]);
    let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
    let mut decoder = isa::decoder(isa, Default::default());
    let mut insns = Vec::new();
    for def in log.runs.iter_mut().flat_map(|b| std::mem::take(&mut b.new_insns)) {
        let size = def.size;
        let (def, decoded) = resolve(&def, isa, &mut *decoder, &code, false);
        insns.push((def, decoded.unwrap_or_else(|| Decoded::unknown(size))));
    }
    let blocks: Vec<_> =
        log.runs.iter_mut().flat_map(|b| std::mem::take(&mut b.new_blocks)).collect();
    let options = Options {
        saves: SaveRule::Transparent,
        details: match detail {
            "instance" => Details::Instances,
            "pairs" => Details::Crossing,
            _ => Details::Local,
        },
        superblock_after: addfg::internals::analysis::superblock::HOT,
        sums: true,
        any_order: false,
    };
    bencher.counter(BytesCount::new(recording.bytes)).counter(ItemsCount::new(null.steps)).bench(
        || {
            let map = Map { space: &space, ids: HashMap::new() };
            let mut pass = Pass::new(
                map,
                Count::default(),
                options,
                Vec::new(),
                Processor {
                    fast: Vec::new(),
                    given: Vec::new(),
                    register_bytes: isa::registers(isa).size,
                    slot: FrameSlot::ReturnSlot { bytes: 8 },
                    link: None,
                    frame: Vec::new(),
                    long: Vec::new(),
                },
            );
            for (def, decoded) in &insns {
                pass.add_insn(def.clone(), decoded.clone());
            }
            for block in &blocks {
                pass.add_block(block.clone());
            }
            for batch in &log.runs {
                pass.push(batch);
            }
            pass.finish();
            pass.output().0
        },
    );
}

/// From QEMU's register values to runs with addresses.
#[divan::bench(args = ["arm", "x86_64"], sample_count = 8, sample_size = 1)]
fn elaborate(bencher: Bencher, name: &str) {
    let text =
        std::fs::read(repository(&format!("tests/formats/qemu/good-{name}.log"))).expect("fixture");
    let isa = if name == "arm" { Isa::Arm } else { Isa::X86_64 };
    let recording =
        Recording::repeat(&format!("elaborate-{name}"), &text, Some(isa), None).expect("qemu");
    let mut log = Keep::default();
    recording.read(1, &mut log);
    let steps: usize = log.steps.iter().map(|b| b.len()).sum();
    let count = bencher.counter(BytesCount::new(recording.bytes)).counter(ItemsCount::new(steps));
    let fresh = || {
        (
            Elaborator::new(isa, Default::default(), log.carries, Box::new(|_| None)),
            log.steps.clone(),
        )
    };
    count.with_inputs(fresh).bench_local_values(|(mut elaborator, batches)| {
        let mut null = Null::default();
        for mut batch in batches {
            let mut out = RunBatch::default();
            elaborator.push(&mut batch, &mut out);
            null.runs(&mut out).expect("never fails");
        }
        null.steps
    });
}
