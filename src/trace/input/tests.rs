use super::*;
use std::io::Write;

fn text(lines: usize) -> Vec<u8> {
    (0..lines).flat_map(|n| format!("line {n} {}\n", "x".repeat(n % 50)).into_bytes()).collect()
}

fn gather(chunks: Chunks) -> (Vec<Vec<u8>>, Option<TraceError>) {
    let mut good = Vec::new();
    let mut offset = 0;
    for chunk in chunks {
        match chunk {
            Ok(chunk) => {
                assert_eq!(chunk.offset, offset);
                offset += chunk.len() as u64;
                good.push(chunk.to_vec());
            }
            Err(error) => return (good, Some(error)),
        }
    }
    (good, None)
}

fn compress(kind: Compression, bytes: &[u8]) -> Vec<u8> {
    match kind {
        Compression::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::stream::encode_all(bytes, 1).unwrap(),
    }
}

/// A file in the temporary folder that goes when dropped.
struct Temporary(std::path::PathBuf);
impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Temporary {
        let path = std::env::temp_dir().join(format!("addfg-input-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Temporary(path)
    }
}
impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const ALL: [Compression; 4] =
    [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd];

#[test]
fn mapped_and_streamed_chunks_are_the_same_and_end_at_line_ends() {
    let bytes = text(3000);
    let file = Temporary::new("plain", &bytes);
    for target in [1, 10, 64, 1000, 65536, 1 << 22] {
        let mapped = gather(Input::open(&file.0).unwrap().chunks(target)).0;
        let streamed = gather(Input::from_bytes("s", &bytes).unwrap().chunks(target)).0;
        assert_eq!(mapped.concat(), bytes, "target {target}");
        assert_eq!(streamed.concat(), bytes, "target {target}");
        for chunk in mapped.iter().chain(&streamed) {
            assert_eq!(chunk.last(), Some(&b'\n'));
            assert!(chunk.len() <= target.max(60) * 2);
        }
    }
    let blocks = gather(Input::open(&file.0).unwrap().blocks(1000)).0;
    assert!(blocks[..blocks.len() - 1].iter().all(|block| block.len() == 1000));
    assert_eq!(gather(Input::from_bytes("s", &bytes).unwrap().blocks(1000)).0, blocks);
}

#[test]
fn every_compression_is_seen_by_content_also_in_several_members() {
    let bytes = text(20_000);
    for kind in ALL {
        let mut packed = compress(kind, &bytes[..300_000]);
        packed.extend(compress(kind, &bytes[300_000..]));
        let file = Temporary::new(&format!("{kind:?}"), &packed);
        let input = Input::open(&file.0).unwrap();
        assert_eq!(input.size(), Some(packed.len() as u64));
        assert_eq!(input.head(), &bytes[..HEAD]);
        let (good, error) = gather(input.chunks(10_000));
        assert!(error.is_none(), "{kind:?} {error:?}");
        assert!(good.concat() == bytes, "{kind:?}");
        let (whole, error) = Input::from_bytes("s", &packed).unwrap().whole(1 << 24).unwrap();
        assert!(error.is_none() && whole[..] == bytes[..]);
    }
}

#[test]
fn a_truncated_compressed_file_gives_what_it_has_then_the_place() {
    let bytes = text(200_000);
    for kind in ALL {
        let packed = compress(kind, &bytes);
        let (good, error) =
            gather(Input::from_bytes("s", &packed[..packed.len() * 3 / 4]).unwrap().chunks(10_000));
        let good = good.concat();
        assert!(!good.is_empty() && bytes.starts_with(&good), "{kind:?}");
        match error {
            Some(TraceError::Malformed { position, .. }) => {
                assert_eq!(
                    position,
                    format!("byte {} after decompression", good.len()),
                    "{kind:?}"
                );
            }
            other => panic!("{kind:?}: {other:?}"),
        }
        // So little that even the head is not whole.
        let few = compress(kind, &bytes[..1000]);
        if let Ok(input) = Input::from_bytes("s", &few[..few.len() - 3]) {
            let (good, error) = gather(input.chunks(100));
            assert!(bytes.starts_with(&good.concat()) && error.is_some(), "{kind:?}");
        }
    }
}

#[test]
fn what_is_no_trace_is_refused_with_its_name() {
    let empty = Temporary::new("empty", b"");
    assert!(matches!(Input::open(&empty.0), Err(TraceError::Empty { .. })));
    assert!(matches!(Input::from_bytes("s", b""), Err(TraceError::Empty { .. })));
    assert!(matches!(
        Input::from_bytes("s", &compress(Compression::Gzip, b"")),
        Err(TraceError::Empty { .. })
    ));
    // With its cause, as the command line prints it.
    let message =
        |path: &Path| format!("{:#}", anyhow::Error::new(Input::open(path).err().unwrap()));
    assert!(message(&std::env::temp_dir()).contains("is a directory"));
    assert!(message(Path::new("does/not/exist")).starts_with("cannot read does/not/exist: "));
}

#[test]
fn a_line_without_end_is_an_error_and_not_memory() {
    struct Endless;
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    let input = Input::from_reader("s", Box::new(Endless)).unwrap();
    let (good, error) = gather(input.chunks(1 << 20));
    assert!(good.is_empty());
    assert!(matches!(error, Some(TraceError::Malformed { .. })));
}

#[test]
fn positions_are_lines_where_the_file_can_be_read_again() {
    let file = Temporary::new("lines", b"a\nbb\nccc\n");
    let locator = Input::open(&file.0).unwrap().locator();
    assert_eq!(
        [0, 1, 2, 5, 3, 100].map(|offset| locator.line(offset).unwrap()),
        [1, 1, 2, 3, 2, 4]
    );
    assert!(locator.at(5).ends_with(":3"));
    assert_eq!(Input::from_bytes("s", b"a\nb").unwrap().locator().at(2), "s: byte 2");
}
