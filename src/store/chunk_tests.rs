//! What is packed comes out as it went in; what is damaged is an error.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
struct Owned {
    thread: u32,
    block: u32,
    address: Vec<u64>,
    value: Vec<Option<u64>>,
    time: Vec<u64>,
    sp: Option<u64>,
    linked: Option<bool>,
}

fn shape(block: u32) -> Shape {
    let block = block as usize;
    Shape { steps: 1 + block * 7_000, accesses: block % 4, register_values: block % 3 }
}

fn pack(runs: &[Owned]) -> Vec<Chunk> {
    let (mut packer, mut chunks) = (Packer::new(5), Vec::new());
    for run in runs {
        let full = packer.push(&Run {
            thread: run.thread,
            block: run.block,
            shape: shape(run.block),
            address: &run.address,
            value: &run.value,
            time: &run.time,
            sp: run.sp,
            linked: run.linked,
        });
        chunks.extend(full.unwrap());
    }
    chunks.extend(packer.finish().unwrap());
    chunks
}

/// The runs of all chunks, and that their steps follow one another.
fn unpack_all(chunks: &[Chunk]) -> Vec<Owned> {
    let (mut all, mut next) = (Vec::new(), 5);
    for chunk in chunks {
        let runs = unpack(&chunk.data).unwrap();
        assert_eq!(next, chunk.first);
        for i in 0..runs.start.len() {
            assert_eq!(runs.start[i], next);
            next += shape(runs.block[i]).steps as u64;
            all.push(Owned {
                thread: runs.thread[i],
                block: runs.block[i],
                address: runs.addresses(i).to_vec(),
                value: runs.values(i).to_vec(),
                time: runs.times(i).to_vec(),
                sp: runs.ends().get(i).and_then(|end| end.0),
                linked: runs.ends().get(i).and_then(|end| end.1),
            });
        }
        assert_eq!(next - 1, chunk.last);
    }
    all
}

fn run(with: (bool, bool)) -> impl Strategy<Value = Owned> {
    let number = || prop_oneof![Just(0), Just(u64::MAX), 0x1000..0x1100u64, any::<u64>()];
    (0..6u32, 0..3u32, prop::option::of(number()), prop::option::of(any::<bool>())).prop_flat_map(
        move |(block, thread, sp, linked)| {
            let shape = shape(block);
            let values = if with.0 { shape.accesses + shape.register_values } else { 0 };
            // Few times: a block has thousands of steps.
            let times = if with.1 && shape.steps == 1 { 1 } else { 0 };
            let lists = (
                prop::collection::vec(number(), shape.accesses),
                prop::collection::vec(prop::option::of(number()), values),
                prop::collection::vec(number(), times),
            );
            lists.prop_map(move |(address, value, time)| Owned {
                thread,
                block,
                address,
                value,
                time,
                sp,
                linked,
            })
        },
    )
}

proptest! {
    #[test]
    fn what_is_packed_comes_out(with in any::<bool>().prop_flat_map(|values| {
        prop::collection::vec(run((values, false)), 0..200)
    })) {
        let chunks = pack(&with);
        prop_assert_eq!(unpack_all(&chunks), with);
    }

    #[test]
    fn damage_is_an_error_and_no_panic(
        runs in prop::collection::vec(run((true, false)), 1..40),
        at in any::<prop::sample::Index>(), byte in any::<u8>(), inside in any::<bool>(),
    ) {
        let mut data = pack(&runs)[0].data.clone();
        if inside {
            // Behind the checksum: the numbers themselves.
            let mut bytes = zstd::stream::decode_all(&*data).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            data = zstd::bulk::compress(&bytes, 1).unwrap();
        } else {
            let at = at.index(data.len());
            data[at] = byte;
        }
        let _ = unpack(&data);
    }
}

/// What no run has takes no room, and a trace without a clock may follow one that has it.
#[test]
fn what_a_trace_does_not_have_is_empty() {
    let run = |time: &[u64]| Owned {
        thread: 0,
        block: 0,
        address: vec![],
        value: vec![],
        time: time.to_vec(),
        sp: None,
        linked: None,
    };
    let with = [run(&[7]), run(&[9]), run(&[])];
    assert_eq!(unpack_all(&pack(&with)), with);
    let chunks = pack(&[run(&[]), run(&[])]);
    let runs = unpack(&chunks[0].data).unwrap();
    assert!(runs.ends().is_empty() && !runs.has_values() && runs.times_of(0..2).is_empty());
}

#[test]
fn times_come_out() {
    let run = |time| Owned {
        thread: 1,
        block: 0,
        address: vec![],
        value: vec![],
        time: vec![time],
        sp: None,
        linked: None,
    };
    let runs = [run(7), run(7), run(1 << 40), run(3)];
    assert_eq!(unpack_all(&pack(&runs)), runs);
}

#[test]
fn a_cut_chunk_and_one_of_another_version_are_errors() {
    let run = Owned {
        thread: 1,
        block: 3,
        address: vec![1, 2, 3],
        value: vec![],
        time: vec![],
        sp: None,
        linked: None,
    };
    let data = &pack(&[run])[0].data;
    for size in 0..data.len() {
        assert!(unpack(&data[..size]).is_err(), "{size} of {} bytes", data.len());
    }
    let other = zstd::bulk::compress(&[9], 1).unwrap();
    assert!(matches!(unpack(&other), Err(ChunkError::Version(9))));
    // Counts that the bytes do not have.
    let mut claims = vec![VERSION as u8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0x0f];
    claims.extend([0; COLUMNS]);
    assert!(unpack(&zstd::bulk::compress(&claims, 1).unwrap()).is_err());
}

/// One event of each kind.
fn events() -> Vec<Event> {
    use crate::event::*;
    let name = |text: &str| Some(Box::from(text));
    let access = |source: Option<Box<str>>| KernelAccess {
        is_write: source.is_none(),
        address: u64::MAX,
        bytes: 3,
        source,
    };
    vec![
        Event::ProcessStart,
        Event::Process(Box::new(Process { pid: Some(77), name: name("a \u{fc}") })),
        Event::Gap,
        Event::ThreadStart(ThreadStart { thread: 3, parent: Some(1), name: None }),
        Event::ThreadEnd { thread: 3 },
        Event::SystemCall(Box::new(SystemCall {
            thread: 1,
            number: Some(-4),
            name: name("read"),
            result: Some(u64::MAX),
            accesses: vec![access(None), access(name("<read: x>"))],
        })),
        Event::ImageMap(Box::new(ImageMap {
            address: 1 << 40,
            bytes: 4096,
            offset: 512,
            executable: true,
            path: name("/lib/x.so"),
        })),
        Event::ImageUnmap { address: 5, bytes: 6 },
        Event::Device(Box::new(NamedRange { address: 1, bytes: 2, name: "uart".into() })),
        Event::Memory(Box::new(NamedRange { address: 1, bytes: u64::MAX, name: "TCM".into() })),
        Event::MemoryMove { from: 1, to: 2, bytes: 3 },
        Event::MemoryCopy { from: 4, to: 5, bytes: 6 },
        Event::MemoryFresh { address: 7, bytes: 8 },
        Event::Fork { pid: 9 },
        Event::Inherit { pid: 9, ranges: vec![(1, 2), (u64::MAX, 1)].into() },
        Event::SignalDelivered { thread: 2, number: 11 },
        Event::SignalEnded { thread: 2 },
        Event::StackPointer { thread: 2, before: u64::MAX, behind: 8, above: Box::default() },
        Event::StackPointer {
            thread: 2,
            before: 8,
            behind: 16,
            above: [(24, u64::MAX), (8, 7)].into(),
        },
        Event::ExceptionEntry(ExceptionEntry {
            thread: 1,
            number: Some(15),
            resume: Some(0x800_0000),
            frame: Some(0x2000_0000),
            keeps: Keeps::LongFrame,
        }),
        Event::ExceptionReturn { thread: 1, frame: None },
        Event::Allocation(Allocation { thread: 1, address: 16, bytes: 32 }),
        Event::Free { thread: 1, address: 16 },
        Event::Reallocation { thread: 1, address: 16 },
        Event::Marker { thread: 1, text: "begin".into() },
    ]
}

/// Events stand where they stood: before the first run, between runs, behind the last one of a full
/// chunk and of the run.
#[test]
fn events_come_out_in_their_places() {
    let run = Run {
        thread: 0,
        block: 0,
        shape: Shape { steps: STEPS as usize, accesses: 0, register_values: 0 },
        address: &[],
        value: &[],
        time: &[],
        sp: None,
        linked: None,
    };
    let (mut packer, mut chunks, events) = (Packer::new(1), Vec::new(), events());
    for place in 0..4 {
        for event in events.iter().skip(place).step_by(4) {
            packer.event(event);
        }
        if place < 3 {
            chunks.extend(packer.push(&run).unwrap());
        }
    }
    chunks.extend(packer.finish().unwrap());
    let found: Vec<_> = chunks.iter().map(|chunk| unpack(&chunk.data).unwrap().events).collect();
    let expected = |at: usize, place: usize| {
        events.iter().skip(place).step_by(4).map(move |e| (at, e.clone()))
    };
    assert_eq!(found[0], expected(0, 0).chain(expected(1, 1)).collect::<Vec<_>>());
    assert_eq!(found[1], expected(1, 2).collect::<Vec<_>>());
    assert_eq!(found[2], expected(1, 3).collect::<Vec<_>>());
}
