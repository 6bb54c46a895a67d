//! What the benchmarks work on.

use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, Isa, RunBatch, StepBatch};
use addfg::internals::load::{Detail, ElfInput, Options, load as build};
use addfg::internals::trace::input::Input;
use addfg::internals::trace::{
    Context, Found, Listener, STEP_FORMATS, Sink, StepFormat, TraceError, detect,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder that is removed at the end.
pub static SCRATCH: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("addfg-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    folder
});

/// The JPEG recording, decompressed.
pub static JPEG: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let file = std::fs::File::open(repository("examples/jpeg/jpeg.log.xz"))
        .expect("the shipped recording");
    let mut text = Vec::new();
    liblzma::read::XzDecoder::new(file).read_to_end(&mut text).expect("xz");
    text
});

/// The JPEG recording's database.
pub static DATABASE: LazyLock<PathBuf> = LazyLock::new(|| {
    let output = SCRATCH.join("jpeg.duckdb");
    let options = Options {
        traces: vec![repository("examples/jpeg/jpeg.log.xz")],
        elfs: vec![ElfInput { path: repository("examples/jpeg/jpeg"), bias: None }],
        detail: Some(Detail::Pairs),
        force: true,
        ..Options::new(output.clone())
    };
    build(&options, &mut |_| false).expect("the shipped recording builds");
    output
});

/// Drops what it gets, and counts steps.
#[derive(Default)]
pub struct Null {
    /// Steps of each block.
    blocks: Vec<u64>,
    pub steps: u64,
}

impl Sink for Null {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.steps += batch.len() as u64;
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        let batch = std::mem::take(batch);
        self.blocks.extend(batch.new_blocks.iter().map(|b| b.steps.len() as u64));
        self.steps += batch.block.iter().map(|&b| self.blocks[b as usize]).sum::<u64>();
        Ok(())
    }
}

impl Listener for Null {
    fn diagnostic(&mut self, _: Diagnostic) {}
    fn progress(&mut self, _: u64) {}
}

/// Keeps what it gets.
#[derive(Default)]
pub struct Keep {
    pub carries: Carries,
    pub steps: Vec<StepBatch>,
    pub runs: Vec<RunBatch>,
}

impl Sink for Keep {
    fn begin(&mut self, carries: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        self.carries = carries;
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.steps.push(std::mem::take(batch));
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.runs.push(std::mem::take(batch));
        Ok(())
    }
}

impl Listener for Keep {
    fn diagnostic(&mut self, _: Diagnostic) {}
    fn progress(&mut self, _: u64) {}
}

/// A recording to read.
pub struct Recording {
    pub path: PathBuf,
    pub bytes: usize,
    pub format: &'static dyn StepFormat,
    isa: Option<Isa>,
    layout: Option<String>,
}

impl Recording {
    /// Bytes that every recording has at least.
    const SIZE: usize = 16 << 20;

    /// Repeats `text` in a file of its own.
    pub fn repeat(
        name: &str,
        text: &[u8],
        isa: Option<Isa>,
        layout: Option<String>,
    ) -> Option<Recording> {
        let path = SCRATCH.join(name);
        let log = text.repeat(Self::SIZE.div_ceil(text.len().max(1)));
        std::fs::write(&path, &log).expect("temporary file");
        let input = Input::open(&path).expect("temporary file");
        let forced = layout.is_some().then_some("layout");
        let Ok(Found::Steps(format)) = detect(&input, forced) else { return None };
        Some(Recording { path, bytes: log.len(), format, isa, layout })
    }

    /// The JPEG recording and the good recordings of each format's tests.
    pub fn all() -> Vec<(String, Recording)> {
        let mut list: Vec<_> = Recording::repeat("jpeg", &JPEG, None, None)
            .map(|r| ("lackey jpeg".to_owned(), r))
            .into_iter()
            .collect();
        for format in STEP_FORMATS {
            let folder = repository("tests/formats").join(format.name());
            let mut files: Vec<_> = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.path())
                .collect();
            files.sort();
            for file in files {
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if !name.starts_with("good") {
                    continue;
                }
                let text = std::fs::read(&file).expect("fixture");
                let layout =
                    name.strip_prefix("good-").map(|n| file.with_file_name(format!("{n}.toml")));
                let layout = layout
                    .filter(|l| l.exists())
                    .map(|l| std::fs::read_to_string(l).expect("layout"));
                let title = format!("{} {name}", format.name());
                list.extend(
                    Recording::repeat(&title.replace(' ', "-"), &text, Some(Isa::Arm), layout)
                        .map(|r| (title, r)),
                );
            }
        }
        list
    }

    pub fn read(&self, jobs: usize, sink: &mut dyn Sink) {
        let layout = self.layout.as_deref();
        let context = Context { isa: self.isa, layout, jobs };
        self.format
            .read(Input::open(&self.path).expect("temporary file"), &context, sink)
            .expect("a good recording");
    }
}
