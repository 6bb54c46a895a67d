//! A writer of XRay logs: every version, either byte order, both layouts of bit fields, and basic
//! mode.

/// What a thread's buffer holds, in order.
#[derive(Clone, Debug)]
pub enum Op {
    Enter(u32, u32),
    /// Entry with arguments.
    EnterArgs(u32, u32, Vec<u64>),
    Exit(u32, u32),
    Tail(u32, u32),
    Cpu(u16, u64),
    Wrap(u64),
    /// Custom event: ticks since the last record, data.
    Custom(u32, Vec<u8>),
    Typed(u32, u16, Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub version: u16,
    pub big: bool,
    /// Bit fields from the highest bit on, as compilers for big-endian processors have them.
    pub high: bool,
}

/// Bytes of a buffer of version 1.
pub const SLOT: usize = 1024;
pub const FREQUENCY: u64 = 2_000_000_000;

/// The buffer of one thread.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub pid: i32,
    pub tid: i32,
    pub wall: u64,
    pub cpu: u16,
    pub tsc: u64,
    pub ops: Vec<Op>,
}

impl Style {
    pub fn u16(self, n: u16) -> [u8; 2] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    pub fn u32(self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    pub fn u64(self, n: u64) -> [u8; 8] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub fn header(self, kind: u16) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.u16(self.version));
        out.extend(self.u16(kind));
        // The bits that mean nothing are garbage in real files.
        out.extend(self.u32(0xabcd_0003));
        out.extend(self.u64(FREQUENCY));
        out.extend(self.u64(SLOT as u64));
        out.extend([0x5a; 8]);
        out
    }

    fn first(self, kind: u8) -> u8 {
        if self.high { 0x80 | kind } else { 1 | kind << 1 }
    }

    /// A record of 16 bytes; what it does not use is garbage.
    pub fn metadata(self, kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![self.first(kind)];
        out.extend(payload);
        out.resize(16, 0xaa);
        out
    }

    fn function(self, kind: u32, number: u32, delta: u32) -> Vec<u8> {
        let word = if self.high { kind << 28 | number } else { kind << 1 | number << 4 };
        [self.u32(word), self.u32(delta)].concat()
    }

    /// The records of a buffer behind those that say whose it is.
    pub fn records(self, tsc: u64, ops: &[Op]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut now = tsc;
        for op in ops {
            match op {
                Op::Enter(number, delta) => {
                    now += u64::from(*delta);
                    out.extend(self.function(0, *number, *delta));
                }
                Op::EnterArgs(number, delta, list) => {
                    now += u64::from(*delta);
                    // The runtimes up to version 3 mark entries with arguments as plain ones.
                    out.extend(self.function(
                        if self.version >= 4 { 3 } else { 0 },
                        *number,
                        *delta,
                    ));
                    for value in list {
                        out.extend(self.metadata(6, &self.u64(*value)));
                    }
                }
                Op::Exit(number, delta) => {
                    now += u64::from(*delta);
                    out.extend(self.function(1, *number, *delta));
                }
                Op::Tail(number, delta) => {
                    now += u64::from(*delta);
                    out.extend(self.function(2, *number, *delta));
                }
                Op::Cpu(cpu, tsc) => {
                    now = *tsc;
                    out.extend(self.metadata(2, &[&self.u16(*cpu)[..], &self.u64(*tsc)].concat()));
                }
                Op::Wrap(tsc) => {
                    now = *tsc;
                    out.extend(self.metadata(3, &self.u64(*tsc)));
                }
                Op::Custom(delta, data) => out.extend(self.event(5, &mut now, *delta, None, data)),
                Op::Typed(delta, kind, data) => {
                    out.extend(self.event(8, &mut now, *delta, Some(*kind), data));
                }
            }
        }
        out
    }

    fn event(
        self,
        kind: u8,
        now: &mut u64,
        delta: u32,
        data_type: Option<u16>,
        data: &[u8],
    ) -> Vec<u8> {
        let mut payload = self.u32(data.len() as u32).to_vec();
        if self.version >= 5 {
            *now += u64::from(delta);
            payload.extend(self.u32(delta));
        } else {
            // An absolute time, from which the next difference does not count.
            payload.extend(self.u64(*now + u64::from(delta)));
        }
        match data_type {
            Some(data_type) => payload.extend(self.u16(data_type)),
            None if self.version == 4 => payload.extend(self.u16(7)),
            None => {}
        }
        let mut out = self.metadata(kind, &payload);
        out.extend(data);
        out
    }

    /// A buffer as it stands in a file.
    pub fn buffer(self, buffer: &Buffer) -> Vec<u8> {
        let mut out = self.metadata(0, &self.u32(buffer.tid as u32));
        out.extend(
            self.metadata(
                4,
                &[
                    &self.u64(buffer.wall / 1_000_000)[..],
                    &self.u32((buffer.wall % 1_000_000) as u32),
                ]
                .concat(),
            ),
        );
        if self.version >= 3 {
            out.extend(self.metadata(9, &self.u32(buffer.pid as u32)));
        }
        out.extend(self.metadata(2, &[&self.u16(buffer.cpu)[..], &self.u64(buffer.tsc)].concat()));
        out.extend(self.records(buffer.tsc, &buffer.ops));
        if self.version == 1 {
            out.extend(self.metadata(1, &[]));
            assert!(out.len() <= SLOT);
            // What an earlier use of the buffer left.
            let mut junk = 1u8;
            while out.len() < SLOT {
                junk = junk.wrapping_mul(5).wrapping_add(7);
                out.push(junk);
            }
            out
        } else {
            let mut all = self.metadata(7, &self.u64(out.len() as u64));
            all.extend(out);
            all
        }
    }

    pub fn log(self, buffers: &[Buffer]) -> Vec<u8> {
        let mut out = self.header(1);
        out.extend(buffers.iter().flat_map(|b| self.buffer(b)));
        out
    }

    /// A record of basic mode.
    pub fn basic(self, kind: u8, number: u32, cpu: u8, tsc: u64, tid: u32, pid: u32) -> Vec<u8> {
        let mut out = self.u16(0).to_vec();
        out.extend([cpu, kind]);
        out.extend(self.u32(number));
        out.extend(self.u64(tsc));
        out.extend(self.u32(tid));
        out.extend(self.u32(pid));
        out.resize(32, 0);
        out
    }

    pub fn basic_argument(self, number: u32, tid: u32, pid: u32, value: u64) -> Vec<u8> {
        let mut out = self.u16(1).to_vec();
        out.extend([0; 2]);
        out.extend(self.u32(number));
        out.extend(self.u32(tid));
        out.extend(self.u32(pid));
        out.extend(self.u64(value));
        out.resize(32, 0);
        out
    }
}
