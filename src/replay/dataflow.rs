//! Last writers again, by `docs/semantics.md`: every communication of the run or of its beginning,
//! those inside a call included.
//!
//! It takes from the database which stores are saves; a test compares its communications with those
//! of databases that keep them all.

use super::{Code, Piece, Place, ReplayError};
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;

/// A write access. `seq` 0: no step wrote the byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write {
    pub seq: i64,
    pub instruction: i32,
    pub ordinal: u16,
    pub thread: u16,
    /// What the observer gave for it.
    pub tag: u32,
}

/// Adjacent bytes that one write access made and one read access read.
#[derive(Clone, Copy, Debug)]
pub struct Communication {
    /// None: no step wrote the bytes.
    pub write: Option<Write>,
    pub read: Write,
    /// Call instance of the read.
    pub call: i32,
    pub is_register: bool,
    pub address: u64,
    pub bytes: u32,
}

/// What looks on. Order: `piece`, then for each of its steps the communications and writes in the
/// order of their ordinals, then `step`.
pub trait Observer {
    fn piece(&mut self, _piece: &Piece) {}
    /// A data read of adjacent bytes that one access wrote; restores of saved registers do not
    /// appear.
    fn communication(&mut self, _communication: &Communication) {}
    /// Bytes that a step writes: `call` is its call instance. The write that a restore makes does
    /// not appear. Gives the tag that communications from it will have.
    fn write(
        &mut self,
        _write: &Write,
        _call: i32,
        _is_register: bool,
        _address: u64,
        _bytes: u32,
    ) -> u32 {
        0
    }
    /// The end of a step; whether to go on.
    fn step(&mut self, _seq: i64, _instruction: i32, _call: i32) -> bool {
        true
    }
}

const PAGE: usize = 256;

/// Last writers of the bytes of one space.
#[derive(Default)]
struct Shadow {
    index: FxHashMap<u64, u32>,
    pages: Vec<[Write; PAGE]>,
    recent: Option<(u64, u32)>,
}

impl Shadow {
    fn page(&mut self, number: u64) -> &mut [Write; PAGE] {
        let at = match self.recent {
            Some((n, at)) if n == number => at,
            _ => {
                let next = self.pages.len() as u32;
                let at = *self.index.entry(number).or_insert(next);
                if at == next {
                    self.pages.push([Write::default(); PAGE]);
                }
                self.recent = Some((number, at));
                at
            }
        };
        &mut self.pages[at as usize]
    }

    fn get(&mut self, address: u64) -> Write {
        self.page(address / PAGE as u64)[address as usize % PAGE]
    }

    fn set(&mut self, address: u64, bytes: u32, write: Write) {
        let (mut address, mut left) = (address, bytes as usize);
        while left > 0 {
            let at = address as usize % PAGE;
            let part = left.min(PAGE - at);
            self.page(address / PAGE as u64)[at..at + part].fill(write);
            address = address.wrapping_add(part as u64);
            left -= part;
        }
    }
}

struct Save {
    seq: i64,
    ordinal: u16,
    call: i32,
    register: u32,
    bytes: u32,
    address: u64,
    /// The only restore, or None where there are several: then each load that fits is one.
    restore: Option<i64>,
    restores: i32,
    exposed: Option<i64>,
    end: i64,
    /// Last writers of the register before the save.
    cells: Vec<Write>,
}

/// Saves of the part of the run that is being gone through.
struct Saves {
    next: std::iter::Peekable<std::vec::IntoIter<Save>>,
    loaded: i64,
}

const SAVES: i64 = 1 << 20;

impl Saves {
    fn load(&mut self, connection: &Connection, from: i64) -> Result<(), ReplayError> {
        let to = from.saturating_add(SAVES);
        let mut statement =
            connection.prepare(include_str!("../../queries/report/replay_saves.sql"))?;
        let row = |r: &duckdb::Row| {
            let restores: i32 = r.get(7)?;
            Ok(Save {
                seq: r.get(0)?,
                ordinal: r.get(1)?,
                call: r.get(2)?,
                register: r.get(3)?,
                bytes: r.get(4)?,
                address: r.get(5)?,
                restore: if restores == 1 { r.get(6)? } else { None },
                restores,
                exposed: r.get(8)?,
                end: r.get::<_, Option<i64>>(9)?.unwrap_or(i64::MAX),
                cells: Vec::new(),
            })
        };
        let list = statement.query_map(params![from, to], row)?.collect::<Result<Vec<_>, _>>()?;
        self.next = list.into_iter().peekable();
        self.loaded = to;
        Ok(())
    }
}

/// Goes through the run from its beginning to step `last` and shows every communication.
pub fn replay<O: Observer>(
    code: &Code,
    connection: &Connection,
    last: i64,
    observer: &mut O,
) -> Result<(), ReplayError> {
    let mut process: Vec<usize> = Vec::new();
    let mut statement =
        connection.prepare(include_str!("../../queries/report/replay_threads.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        *super::slot(&mut process, r.get(0)?, "thread")? = r.get::<_, i32>(1)?.max(0) as usize;
    }
    let (mut memory, mut registers): (Vec<Shadow>, Vec<Shadow>) = (Vec::new(), Vec::new());
    let mut saves = Saves { next: Vec::new().into_iter().peekable(), loaded: i64::MIN };
    let mut active: FxHashMap<(usize, u64), Save> = FxHashMap::default();
    let mut failed = None;
    code.forwards(connection, (code.first, last), |piece| {
        if saves.loaded < piece.seq(piece.end_step) {
            // What is left of the last part lies before this piece.
            if let Err(error) = saves.load(connection, piece.seq(piece.first_step)) {
                failed = Some(error);
                return false;
            }
        }
        let thread = piece.thread.max(0) as usize;
        let owner = process.get(thread).copied().unwrap_or(0);
        let grow = |list: &mut Vec<Shadow>, n: usize| {
            list.resize_with(list.len().max(n + 1), Shadow::default)
        };
        grow(&mut memory, owner);
        grow(&mut registers, thread);
        let (memory, registers) = (&mut memory[owner], &mut registers[thread]);
        observer.piece(piece);
        for step in piece.first_step..piece.end_step {
            let seq = piece.seq(step);
            let instruction = piece.block.instructions[step];
            let write =
                |ordinal| Write { seq, instruction, ordinal, thread: piece.thread as u16, tag: 0 };
            while saves.next.next_if(|s| s.seq < seq).is_some() {}
            let mut saving = Vec::new();
            while let Some(mut save) = saves.next.next_if(|s| s.seq == seq) {
                save.cells = (0..save.bytes)
                    .map(|i| registers.get(u64::from(save.register) + u64::from(i)))
                    .collect();
                saving.push(save);
            }
            let mut restored: Option<(u32, Vec<Write>)> = None;
            for access in piece.block.accesses_of(step) {
                let (is_register, address) = match access.place {
                    Place::Register(address) => (true, u64::from(address)),
                    Place::Memory(index) => match piece.address.get(index as usize) {
                        Some(&address) => (false, address),
                        None => continue,
                    },
                };
                if access.is_control && !(access.is_write && !is_register) {
                    continue;
                }
                let space = if is_register { &mut *registers } else { &mut *memory };
                if access.is_write {
                    if let (true, Some((register, cells))) = (is_register, &restored)
                        && access.place == Place::Register(*register)
                        && access.size as usize == cells.len()
                    {
                        for (i, &cell) in cells.iter().enumerate() {
                            space.set(address + i as u64, 1, cell);
                        }
                        continue;
                    }
                    let mut write = write(access.ordinal);
                    write.tag =
                        observer.write(&write, piece.call, is_register, address, access.size);
                    space.set(address, access.size, write);
                    continue;
                }
                if is_register
                    && saving.iter().any(|s| {
                        s.exposed.is_none()
                            && address >= s.register.into()
                            && address < u64::from(s.register) + u64::from(s.bytes)
                    })
                {
                    // A save's read of the register is none; what else it reads is beside that.
                    let hidden = |a: u64| {
                        saving.iter().any(|s| {
                            s.exposed.is_none()
                                && a >= s.register.into()
                                && a < u64::from(s.register) + u64::from(s.bytes)
                        })
                    };
                    if (0..u64::from(access.size)).all(|i| hidden(address + i)) {
                        continue;
                    }
                }
                if let (false, Some(register)) = (is_register, access.data_register)
                    && let Some(save) = active.get(&(owner, address))
                    && save.register == register
                    && save.bytes == access.size
                    && save.call == piece.call
                    && save.restores > 0
                    && save.restore.is_none_or(|r| r == seq)
                    && save.exposed.is_none_or(|e| seq < e)
                    && seq <= save.end
                    && (0..access.size).all(|i| {
                        let cell = space.get(address.wrapping_add(i.into()));
                        cell.seq == save.seq && cell.ordinal == save.ordinal
                    })
                {
                    restored = Some((register, save.cells.clone()));
                    continue;
                }
                let read = write(access.ordinal);
                let mut done = 0;
                while done < access.size {
                    let first = space.get(address.wrapping_add(done.into()));
                    let mut end = done + 1;
                    while end < access.size {
                        let next = space.get(address.wrapping_add(end.into()));
                        if (next.seq, next.ordinal) != (first.seq, first.ordinal) {
                            break;
                        }
                        end += 1;
                    }
                    observer.communication(&Communication {
                        write: (first.seq > 0).then_some(first),
                        read,
                        call: piece.call,
                        is_register,
                        address: address.wrapping_add(done.into()),
                        bytes: end - done,
                    });
                    done = end;
                }
            }
            for save in saving {
                active.insert((owner, save.address), save);
            }
            if !observer.step(seq, instruction, piece.call) {
                return false;
            }
        }
        true
    })?;
    failed.map_or(Ok(()), Err)
}

/// Shows every communication of the run.
pub fn communications(
    code: &Code,
    connection: &Connection,
    mut take: impl FnMut(&Communication),
) -> Result<(), ReplayError> {
    struct All<F>(F);
    impl<F: FnMut(&Communication)> Observer for All<F> {
        fn communication(&mut self, c: &Communication) {
            (self.0)(c);
        }
        fn write(&mut self, _: &Write, _: i32, _: bool, _: u64, _: u32) -> u32 {
            0
        }
    }
    replay(code, connection, code.last, &mut All(&mut take))
}
