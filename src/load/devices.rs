//! Devices: addresses behind which is no memory. What is stored there goes to the device, what is
//! loaded comes from it, whatever was stored there before.
//!
//! Each access of one becomes what the system does to memory, beside the step: it writes the bytes
//! before a step loads them, and reads them behind a step that stores them. So that these stand in
//! their places, runs are cut there.
//!
//! Source: ARMv7-M Architecture Reference Manual (DDI 0403), B3.1 (the system address map).

use super::pass::BuildPass;
use crate::event::{BlockDef, Event, KernelAccess, NamedRange, RunBatch, RunEnd, SystemCall};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE: u64 = 4096;
/// Pages that are told apart at most: a trace of nonsense has no end of them.
const MOST_PAGES: usize = 1 << 12;

/// What is known of the devices of a run.
#[derive(Default)]
pub struct Devices {
    /// Those that were given, until the trace begins.
    given: Vec<NamedRange>,
    /// First and last address of each of them.
    named: Vec<(u64, u64)>,
    /// By first address: the last, and the name of what the device gives and takes.
    ranges: BTreeMap<u64, (u64, Arc<str>)>,
    /// Pages of the M profile's address map that were looked at; None: another profile.
    pages: Option<FxHashSet<u64>>,
    /// By block, first step and one behind the last: the block of these steps only.
    pieces: FxHashMap<(u32, u32, u32), u32>,
}

/// Name of the pseudo-function that a device is.
pub fn source(name: &str) -> String {
    format!("<device {name}>")
}

/// What of a page no device has yet: descriptions of chips name parts of pages.
fn untold(told: &BTreeMap<u64, (u64, Arc<str>)>, page: NamedRange) -> Vec<NamedRange> {
    let last = page.last();
    let mut rest = Vec::new();
    let mut from = Some(page.address);
    let before = told.range(..page.address).next_back();
    for (first, (end, _)) in before.into_iter().chain(told.range(page.address..=last)) {
        let Some(start) = from.filter(|_| *end >= page.address) else { continue };
        if *first > start {
            let name = page.name.clone();
            rest.push(NamedRange { address: start, bytes: first - start, name });
        }
        from = end.checked_add(1).map(|next| next.max(start));
    }
    if let Some(start) = from.filter(|start| *start <= last) {
        let name = page.name;
        rest.push(NamedRange { address: start, bytes: last - start + 1, name });
    }
    rest
}

/// What the M profile has on a page, if it is no memory.
fn of_m_profile(page: u64) -> Option<NamedRange> {
    let name = match page * PAGE {
        0xe000_0000 => "ITM".into(),
        0xe000_1000 => "DWT".into(),
        0xe000_2000 => "FPB".into(),
        // SysTick, the interrupt controller, and what else controls the processor.
        0xe000_e000 => "system control".into(),
        0xe004_0000 => "TPIU".into(),
        address @ (0x4000_0000..0x6000_0000 | 0xa000_0000..0x1_0000_0000) => {
            format!("{address:#x}").into()
        }
        _ => return None,
    };
    Some(NamedRange { address: page * PAGE, bytes: PAGE, name })
}

impl Devices {
    /// `m_profile`: the processor is of ARM's M profile, whose address map says where devices are.
    pub fn new(m_profile: bool, given: Vec<NamedRange>) -> Devices {
        let pages = m_profile.then(FxHashSet::default);
        let named = given.iter().map(|of| (of.address, of.last())).collect();
        let mut devices = Devices { pages, named, ..Devices::default() };
        devices.given = given.into_iter().filter(|device| devices.add(device)).collect();
        devices
    }

    /// Devices that were given, and those that the addresses of a batch are the first to touch.
    pub fn begun(&mut self, batch: &RunBatch) -> Vec<NamedRange> {
        let mut new = std::mem::take(&mut self.given);
        let Some(pages) = &mut self.pages else { return new };
        for address in batch.addresses.iter().filter(|a| **a >= 0x4000_0000) {
            let page = address / PAGE;
            if pages.len() < MOST_PAGES && pages.insert(page) {
                new.extend(of_m_profile(page).into_iter().flat_map(|of| untold(&self.ranges, of)));
            }
        }
        new
    }

    /// A trace tells of a device: whether that is new. A device that was given keeps its name.
    pub fn report(&mut self, device: &NamedRange) -> bool {
        let given =
            self.named.iter().any(|(first, last)| (*first..=*last).contains(&device.address));
        !given && self.add(device)
    }

    /// From here on a device lies there: whether that is new.
    pub fn add(&mut self, device: &NamedRange) -> bool {
        let Some(more) = device.bytes.checked_sub(1) else { return false };
        let here = (device.address.saturating_add(more), source(&device.name).into());
        self.ranges.insert(device.address, here.clone()) != Some(here)
    }

    fn at(&self, address: u64) -> Option<&Arc<str>> {
        let (_, (last, name)) = self.ranges.range(..=address).next_back()?;
        (address <= *last).then_some(name)
    }

    /// Cuts the runs of a batch at what they do to devices, with events that say it.
    pub fn cut(&mut self, batch: &mut RunBatch, pass: &mut BuildPass) {
        if self.ranges.is_empty() || !batch.addresses.iter().any(|a| self.at(*a).is_some()) {
            return;
        }
        let blocks = std::mem::take(&mut batch.block);
        let threads = std::mem::take(&mut batch.thread);
        let ends = std::mem::take(&mut batch.end);
        let mut told = std::mem::take(&mut batch.events).into_iter().peekable();
        let mut address = 0;
        for (run, &block) in blocks.iter().enumerate() {
            while let Some((_, event)) = told.next_if(|(at, _)| *at as usize <= run) {
                batch.events.push((batch.block.len() as u32, event));
            }
            let thread = threads.get(run).copied();
            let end = ends.get(run).copied();
            let from = address;
            address += pass.blocks[block as usize].mem as usize;
            let here = &batch.addresses[from..address];
            if !here.iter().any(|a| self.at(*a).is_some()) {
                batch.push_piece(block, thread, end);
                continue;
            }
            let def = pass.defs[block as usize].clone();
            let (mut first, mut mem) = (0, 0);
            for (i, step) in (0u32..).zip(&def.steps) {
                let shapes = mem..mem + usize::from(step.mem);
                mem = shapes.end;
                let accesses = |is_write: bool| -> Vec<KernelAccess> {
                    let made = shapes.clone().filter(|&m| def.mem[m].is_write == is_write);
                    let made = made.filter_map(|m| {
                        let (address, bytes) = (batch.addresses[from + m], def.mem[m].size.into());
                        let source = Some(self.at(address)?.as_ref().into());
                        Some(KernelAccess { is_write: !is_write, address, bytes, source })
                    });
                    made.collect()
                };
                let (loaded, stored) = (accesses(false), accesses(true));
                if !loaded.is_empty() {
                    if i > first {
                        let piece = self.pieces.get(&(block, first, i)).copied();
                        let piece = piece.unwrap_or_else(|| piece_of(pass, &def, first, i));
                        self.pieces.insert((block, first, i), piece);
                        batch.push_piece(piece, thread, end.map(|_| RunEnd::default()));
                        first = i;
                    }
                    batch.tell(thread, loaded);
                }
                let is_last = i as usize + 1 == def.steps.len();
                if is_last || !stored.is_empty() {
                    let piece = self.pieces.get(&(block, first, i + 1)).copied();
                    let piece = piece.unwrap_or_else(|| match (first, is_last) {
                        (0, true) => block,
                        _ => piece_of(pass, &def, first, i + 1),
                    });
                    self.pieces.insert((block, first, i + 1), piece);
                    let end = end.map(|end| if is_last { end } else { RunEnd::default() });
                    batch.push_piece(piece, thread, end);
                    first = i + 1;
                }
                if !stored.is_empty() {
                    batch.tell(thread, stored);
                }
            }
        }
        let behind = batch.block.len() as u32;
        batch.events.extend(told.map(|(_, event)| (behind, event)));
    }
}

/// A block of some steps of another.
fn piece_of(pass: &mut BuildPass, def: &BlockDef, first: u32, end: u32) -> u32 {
    let (first, end) = (first as usize, end as usize);
    let accesses = |steps: &[crate::event::BlockStep]| -> usize {
        steps.iter().map(|step| usize::from(step.mem)).sum()
    };
    let before = accesses(&def.steps[..first]);
    let steps = def.steps[first..end].to_vec();
    let mem = def.mem[before..before + accesses(&steps)].to_vec();
    pass.add_block(BlockDef { steps, mem });
    pass.blocks.len() as u32 - 1
}

impl RunBatch {
    fn push_piece(&mut self, block: u32, thread: Option<u32>, end: Option<RunEnd>) {
        self.block.push(block);
        self.thread.extend(thread);
        self.end.extend(end);
    }

    /// A device gives or takes bytes before the next run.
    fn tell(&mut self, thread: Option<u32>, accesses: Vec<KernelAccess>) {
        let (thread, name) = (thread.unwrap_or(0), Some(SystemCall::DEVICE.into()));
        let call = SystemCall { thread, name, accesses, ..SystemCall::default() };
        self.events.push((self.block.len() as u32, Event::SystemCall(Box::new(call))));
    }
}
