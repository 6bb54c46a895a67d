//! Where an image was loaded: by a mapping of its file, or from the addresses that were executed.

use super::Image;
use super::ranges::{self, Range};
use goblin::elf::ProgramHeader;
use goblin::elf::program_header::PF_X;
use rustc_hash::FxHashMap;

/// Images are mapped page by page.
const PAGE: u64 = 4096;
/// Sizes of pages that systems have.
const PAGES: [u64; 3] = [PAGE, 16 << 10, 64 << 10];
/// Candidates that are weighed exactly, those with most votes first.
const WEIGHED: usize = 256;
/// Votes counted at most; executed addresses are thinned out evenly to stay below.
const MAX_VOTES: usize = 32 << 20;
/// Functions that must have been entered before a bias is believed that leaves executed addresses
/// to other images.
const MIN_ENTERED: i64 = 4;

impl Image {
    /// The bias of the image under which its file's contents from `offset` on are mapped at the
    /// run-time address `address`; None if no segment is mapped so, 0 for one that is not
    /// position-independent.
    ///
    /// The mapping may be a whole segment or, as `mprotect` cuts them, a later part of one. A page of
    /// the file may belong to two segments, and is mapped twice then: lld and mold put the first
    /// code behind the headers. Of such the one is meant that is `executable` as the mapping is, of
    /// several the one with the lower address.
    pub fn bias_of_mapping(&self, address: u64, offset: u64, executable: bool) -> Option<u64> {
        if !address.is_multiple_of(PAGE) || !offset.is_multiple_of(PAGE) {
            return None;
        }
        let in_file = |s: &&ProgramHeader| s.p_filesz > 0;
        let fits = self.file.segments.iter().filter(in_file).filter_map(|segment| {
            let bias = address
                .wrapping_sub(offset)
                .wrapping_sub(segment.p_vaddr.wrapping_sub(segment.p_offset));
            let begins = |&page: &u64| {
                (page == PAGE || segment.p_align >= page && address.is_multiple_of(page))
                    && segment.p_offset / page * page == offset
            };
            let inside = offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz;
            let rank = PAGES.iter().position(begins).or(inside.then_some(PAGES.len()))?;
            // Also of a segment whose place in its page is not the same in the file.
            let placed = if self.pie { bias.is_multiple_of(PAGE) } else { bias == 0 };
            let other = (segment.p_flags & PF_X != 0) != executable;
            placed.then_some((other, rank, bias))
        });
        Some(fits.min_by_key(|&(other, rank, _)| (other, rank))?.2)
    }
}

/// The bias of a loaded image, given run-time addresses of executed instructions: every distinct
/// one of a trace or of its beginning, in any order. Some(0) for an image that is not
/// position-independent; None if no bias explains clearly more than the others.
///
/// Rests on one fact: a function that was executed was entered, so its entry is among the executed
/// addresses. Each pair of an executed address and a function entry that agree in their place
/// within a page votes for a bias. Of those with most votes that bias wins under which the
/// functions with their entry executed most outnumber those that were executed without it; a wrong
/// one hits entries only by chance, and places executed addresses outside of code. Stripped images
/// have the functions that their unwind table lists.
pub fn guess_bias(image: &Image, executed: &[u64]) -> Option<u64> {
    if !image.pie {
        return Some(0);
    }
    let mut executed = executed.to_vec();
    executed.sort_unstable();
    executed.dedup();

    let code: Vec<Range> = image
        .sections
        .iter()
        .filter(|s| s.executable)
        .map(|s| (s.address, s.address.saturating_add(s.size), 0))
        .collect();
    let code = ranges::flatten(&code);
    let mut entries: Vec<u64> = Vec::new();
    let mut extents: Vec<Range> = Vec::new();
    for function in image.functions.iter().filter(|f| ranges::find(&code, f.address).is_some()) {
        extents
            .extend(function.ranges.iter().map(|&(start, end)| (start, end, entries.len() as u32)));
        entries.push(function.address);
    }
    let extents = ranges::flatten(&extents);

    let mut by_offset: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
    for &entry in &entries {
        by_offset.entry(entry % PAGE).or_default().push(entry);
    }
    let ballots = |address: &u64| by_offset.get(&(address % PAGE)).map_or(0, Vec::len);
    let thin = executed.iter().map(ballots).sum::<usize>() / MAX_VOTES + 1;
    let mut votes: FxHashMap<u64, u32> = FxHashMap::default();
    for address in executed.iter().step_by(thin) {
        for entry in by_offset.get(&(address % PAGE)).into_iter().flatten() {
            *votes.entry(address.wrapping_sub(*entry)).or_default() += 1;
        }
    }
    let mut votes: Vec<(u64, u32)> = votes.into_iter().collect();
    votes.sort_unstable_by_key(|&(bias, count)| (std::cmp::Reverse(count), bias));
    votes.truncate(WEIGHED);

    let mut entered = vec![Seen::Never; entries.len()];
    let mut weighed: Vec<(i64, u64, bool)> = votes
        .iter()
        .filter_map(|&(bias, _)| {
            let (score, explains_all) =
                weigh(image, &executed, &code, &extents, &entries, &mut entered, bias)?;
            Some((score, bias, explains_all))
        })
        .collect();
    weighed.sort_unstable_by_key(|&(score, bias, _)| (std::cmp::Reverse(score), bias));
    let &(score, bias, explains_all) = weighed.first()?;
    let second = weighed.get(1).map_or(0, |w| w.0.max(0));
    let enough = if explains_all { 1 } else { MIN_ENTERED };
    (score >= enough && score >= second * 2 && score > second).then_some(bias)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Never,
    Inside,
    Entered,
}

/// Functions entered minus functions executed without being entered, and whether all that was
/// executed lies in the image. None if the image cannot be there.
fn weigh(
    image: &Image,
    executed: &[u64],
    code: &[Range],
    extents: &[Range],
    entries: &[u64],
    seen: &mut [Seen],
    bias: u64,
) -> Option<(i64, bool)> {
    let first = image.load_range.0.wrapping_add(bias);
    let last = image.load_range.1.checked_sub(1)?.wrapping_add(bias);
    if first > last {
        return None;
    }
    let inside = &executed
        [executed.partition_point(|&a| a < first)..executed.partition_point(|&a| a <= last)];
    seen.fill(Seen::Never);
    let mut not_code = 0;
    for address in inside {
        let address = address.wrapping_sub(bias);
        if let Some(&(_, _, function)) = ranges::find(extents, address) {
            let function = function as usize;
            if entries[function] == address {
                seen[function] = Seen::Entered;
            } else if seen[function] == Seen::Never {
                seen[function] = Seen::Inside;
            }
        } else if ranges::find(code, address).is_none() {
            not_code += 1;
        }
    }
    // Code that the program wrote itself may lie in its data, but it is not much.
    if not_code * 20 > inside.len() {
        return None;
    }
    let score = seen.iter().map(|s| match s {
        Seen::Never => 0,
        Seen::Inside => -1,
        Seen::Entered => 1,
    });
    Some((score.sum(), inside.len() == executed.len()))
}
