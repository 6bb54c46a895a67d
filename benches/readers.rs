//! From a log to batches, for each format.

use crate::inputs::{Null, Recording};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use std::sync::LazyLock;

static RECORDINGS: LazyLock<Vec<(String, Recording)>> = LazyLock::new(Recording::all);

fn names() -> Vec<&'static str> {
    RECORDINGS.iter().map(|(name, _)| name.as_str()).collect()
}

#[divan::bench(args = names(), sample_count = 8, sample_size = 1)]
fn one_thread(bencher: Bencher, name: &str) {
    let Some((_, recording)) = RECORDINGS.iter().find(|(n, _)| n == name) else { return };
    let mut first = Null::default();
    recording.read(1, &mut first);
    bencher.counter(BytesCount::new(recording.bytes)).counter(ItemsCount::new(first.steps)).bench(
        || {
            let mut null = Null::default();
            recording.read(1, &mut null);
            null.steps
        },
    );
}
