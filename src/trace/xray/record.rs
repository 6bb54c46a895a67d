//! What a log consists of.

/// How records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub big: bool,
    /// The first bit field is the highest.
    pub high_bits: bool,
    pub naive: bool,
}

impl Layout {
    /// First byte of a metadata record of a kind. Compilers for big-endian processors put the first
    /// bit field into the highest bit; llvm-xray reads it from the lowest there, too, and its
    /// transcoded files have it so.
    pub fn byte(self, kind: u8) -> u8 {
        if self.high_bits { 0x80 | kind } else { 1 | kind << 1 }
    }

    /// Kind of a metadata record, None if the byte begins an entry or exit.
    #[inline]
    pub(super) fn kind(self, byte: u8) -> Option<u8> {
        if self.high_bits {
            (byte & 0x80 != 0).then_some(byte & 0x7f)
        } else {
            (byte & 1 != 0).then_some(byte >> 1)
        }
    }
}

/// What stands before the records.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Where it stands in the file.
    pub at: usize,
    pub version: u16,
    /// Flight data recorder, else basic mode.
    pub fdr: bool,
    pub big: bool,
    pub layout: Layout,
    /// Ticks a second; 0: unknown.
    pub frequency: u64,
    pub buffer_size: u64,
}

impl Header {
    pub const SIZE: usize = 32;

    /// The header at the begin of `bytes`; None if that is none.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let head = bytes.get(..Header::SIZE)?;
        let word = |at: usize| (u16::from(head[at + 1]) << 8) | u16::from(head[at]);
        let good = |version: u16, kind: u16| (1..=255).contains(&version) && kind <= 1;
        let (version, kind, big) = match (word(0), word(2)) {
            (version, kind) if good(version, kind) => (version, kind, false),
            (version, kind) if good(version.swap_bytes(), kind.swap_bytes()) => {
                (version.swap_bytes(), kind.swap_bytes(), true)
            }
            _ => return None,
        };
        let high_bits =
            big && kind == 1 && bytes.get(Header::SIZE).is_some_and(|first| first & 0x80 != 0);
        let layout = Layout { big, high_bits, naive: kind == 0 };
        let (frequency, buffer_size) = (u64_at(&head[8..], big), u64_at(&head[16..], big));
        Some(Header { at: 0, version, fdr: kind == 1, big, layout, frequency, buffer_size })
    }
}

/// Records of one thread that stand together.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub file: u32,
    pub start: usize,
    /// Exclusive.
    pub end: usize,
    /// Where the records begin that no other file has, too: those before are read for the clock
    /// only.
    pub own: usize,
    /// Number of the file whose program was forked from another one's, 0: none. Its process and
    /// thread have that program's numbers in their buffers.
    pub fork: u32,
    /// The file ends before the block does.
    pub cut: bool,
    pub version: u16,
    pub layout: Layout,
    pub pid: Option<i32>,
    pub tid: i32,
    /// Time of day at its begin, seconds and microseconds of the system's monotonic clock.
    pub wall: (u64, u32),
    /// Clock at its begin.
    pub tsc: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Enter,
    Exit,
    TailExit,
    /// An argument of the entry before.
    Argument,
    /// A custom or typed event.
    Data,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time: u64,
    /// Of an argument its value, of data where its record stands in the file.
    pub value: u64,
    /// Number in the instrumentation map; of data its bytes.
    pub function: u32,
    pub cpu: u16,
    pub kind: Kind,
}

pub(super) fn u16_at(bytes: &[u8], big: bool) -> u16 {
    let b = [bytes[0], bytes[1]];
    if big { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) }
}

pub(super) fn u32_at(bytes: &[u8], big: bool) -> u32 {
    let b = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
}

pub(super) fn u64_at(bytes: &[u8], big: bool) -> u64 {
    let (a, b) = (u64::from(u32_at(bytes, big)), u64::from(u32_at(&bytes[4..], big)));
    if big { a << 32 | b } else { b << 32 | a }
}
