//! The memory profile as tables, as a picture, and as data with a script for gnuplot.

use super::listing::Listing;
use super::sites::{Sites, own};
use super::{ViewError, report};
use crate::id::FunctionId;
use crate::query::{each, is_prepared};
use crate::render::svg::Svg;
use crate::replay::allocations::{Allocations, Allocator, allocations};
use crate::replay::memory::{LINE, Moment, PAGE, Profile, profile};
use crate::replay::{Code, Traffic, Volume, places};
use crate::text::{human_bytes, human_count};
use duckdb::types::Value;
use duckdb::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Functions, or groups of them, with what they wrote and nobody read. What a group wrote is the sum
/// of its functions; it is read by itself only where nothing outside of the group reads it.
pub fn unused(
    connection: &Connection,
    groups: &BTreeMap<FunctionId, String>,
    limit: i64,
) -> Result<Listing, ViewError> {
    connection.execute_batch(
        "CREATE OR REPLACE TEMP TABLE function_group (function_id INTEGER, node INTEGER, name VARCHAR)",
    )?;
    let mut first: BTreeMap<&str, FunctionId> = BTreeMap::new();
    let mut insert = connection.prepare("INSERT INTO function_group VALUES (?, ?, ?)")?;
    for (id, name) in groups {
        let node = first.entry(name).or_insert(*id);
        insert.execute(params![id, *node, name])?;
    }
    Ok(Listing::new(report!("unused"), [Value::BigInt(limit)]))
}

/// As it is stored, else by going through the run once.
pub fn memory(connection: &Connection) -> Result<Profile, ViewError> {
    if is_prepared(connection)? {
        return prepared(connection);
    }
    let code = Code::open_events(connection)?;
    let places = places(connection)?;
    Ok(profile(&code, connection, &places)?)
}

/// What `addfg prepare` has stored. Parts of the run that are not there have no pages.
fn prepared(connection: &Connection) -> Result<Profile, ViewError> {
    let mut profile = Profile::default();
    each(connection, report!("prepared_traffic"), &[], |r| {
        let volume = Volume {
            reads: r.get(1)?,
            read_bytes: r.get(2)?,
            writes: r.get(3)?,
            written_bytes: r.get(4)?,
        };
        let traffic = Traffic {
            volume,
            dead_bytes: r.get(5)?,
            touched: r.get(6)?,
            unique_read_bytes: r.get(7)?,
            first_read_bytes: r.get(8)?,
        };
        profile.traffic.insert(r.get(0)?, traffic);
        Ok(())
    })?;
    each(connection, report!("prepared_moments"), &[], |r| {
        profile.moments.push(Moment {
            first_seq: r.get(0)?,
            reads: r.get(1)?,
            writes: r.get(2)?,
            touched: r.get(3)?,
            footprint: r.get(4)?,
        });
        Ok(())
    })?;
    let moments = profile.moments.len();
    each(connection, report!("prepared_pages"), &[], |r| {
        let page: u64 = r.get(1)?;
        if let Some(moment) = usize::try_from(r.get::<_, i32>(0)?).ok().filter(|&m| m < moments)
            && page <= u64::MAX / PAGE
        {
            profile.pages.insert((moment, page), (r.get(2)?, r.get(3)?));
        }
        Ok(())
    })?;
    each(connection, report!("prepared_reuse"), &[], |r| {
        match r.get::<_, Option<u8>>(0)?.map(usize::from) {
            None => profile.cold = r.get(1)?,
            // Distances are of 32 bits.
            Some(class) if class <= 32 => {
                let classes = profile.reuse.len().max(class + 1);
                profile.reuse.resize(classes, 0);
                profile.reuse[class] = r.get(1)?;
            }
            Some(_) => {}
        }
        Ok(())
    })?;
    Ok(profile)
}

/// Allocations with the names of what asked for them.
pub struct Heap {
    pub found: Allocations,
    pub sites: Sites,
}

/// Goes through the run once. `keep`: how many allocations are listed at most. `more`: names of
/// functions and what each does. `groups`: functions whose calls are one place that asks.
pub fn heap(
    connection: &Connection,
    more: &[(&str, &'static Allocator)],
    groups: &BTreeMap<FunctionId, String>,
    keep: u64,
) -> Result<Heap, ViewError> {
    let code = Code::open(connection)?;
    let more = own(connection, more)?;
    let sites = Sites::read(connection, &code, &more, groups)?;
    let instructions = &sites.representative;
    let found = allocations(code, connection, &places(connection)?, &more, instructions, keep)?;
    Ok(Heap { found, sites })
}

/// A class of reuse distances, in words: distinct lines in between.
pub fn distance(class: usize) -> String {
    match class {
        0 => "0".into(),
        1 => "1".into(),
        _ => format!("{}-{}", 1u64 << (class - 1), (1u64 << class) - 1),
    }
}

/// Pages that were touched, from low to high, as they are drawn: gaps closed.
fn pages(profile: &Profile) -> Vec<u64> {
    let set: BTreeSet<u64> = profile.pages.keys().map(|k| k.1).collect();
    set.into_iter().collect()
}

/// Rows of pages that are drawn at most; more share rows.
const ROWS: usize = 160;

/// Accesses over address and time, and below it the footprint. `problems`: what was not understood.
pub fn picture(profile: &Profile, problems: &[String]) -> String {
    let pages = pages(profile);
    let (columns, group) = (profile.moments.len().max(1), pages.len().div_ceil(ROWS).max(1));
    let rows = pages.len().div_ceil(group);
    let (width, height) =
        ((760.0 / columns as f64).max(2.0), (400.0 / rows.max(1) as f64).clamp(2.0, 14.0));
    let (left, top) = (120.0, 20.0);
    let mut svg = Svg::new();
    let mut sums: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for (&(moment, page), &(reads, writes)) in &profile.pages {
        let row = pages.binary_search(&page).unwrap_or(0) / group;
        let sum = sums.entry((moment, row)).or_default();
        *sum = (sum.0 + reads, sum.1 + writes);
    }
    let most = sums.values().map(|s| s.0 + s.1).max().unwrap_or(1).max(2) as f64;
    svg.rect(left, top, width * columns as f64, height * rows as f64, "#f4f4f4", "");
    for (&(moment, row), &(reads, writes)) in &sums {
        let all = reads + writes;
        let share = 0.25 + 0.75 * (all as f64).ln() / most.ln();
        // Blue reads, red writes, between them what does both.
        let red = writes as f64 / all as f64;
        let mix = |a: f64, b: f64| (255.0 + (a + (b - a) * red - 255.0) * share).round() as u8;
        let colour =
            format!("#{:02x}{:02x}{:02x}", mix(30.0, 210.0), mix(90.0, 40.0), mix(200.0, 40.0));
        let y = top + height * (rows - 1 - row) as f64;
        svg.rect(left + width * moment as f64, y, width, height, &colour, "");
    }
    let step = (rows / 16).max(1);
    for row in (0..rows).step_by(step) {
        let label = format!("{:#x}", pages[row * group] * PAGE);
        svg.text(
            left - 4.0,
            top + height * (rows - 1 - row) as f64 + height / 2.0 + 4.0,
            "end",
            &label,
        );
    }
    let base = top + height * rows as f64;
    let steps = profile.moments.iter().rev().find(|m| m.first_seq > 0).map_or(0, |m| m.first_seq);
    svg.text(
        left,
        base + 14.0,
        "start",
        &format!(
            "Accesses by page of 4 KiB (gaps closed) over {} steps. Blue: reads, red: writes.",
            human_count(steps)
        ),
    );
    let most = profile.moments.iter().map(|m| m.footprint).max().unwrap_or(1).max(1) as f64;
    let (low, tall) = (base + 130.0, 90.0);
    let curve = |of: &dyn Fn(&crate::replay::memory::Moment) -> u64| -> Vec<(f64, f64)> {
        let points = profile.moments.iter().enumerate().filter(|(_, m)| m.first_seq > 0);
        points
            .map(|(i, m)| (left + width * (i as f64 + 0.5), low - tall * of(m) as f64 / most))
            .collect()
    };
    svg.rect(left, low - tall, width * columns as f64, tall, "#f4f4f4", "");
    svg.line(&curve(&|m| m.footprint), "#222222");
    svg.line(&curve(&|m| m.touched), "#c8551b");
    svg.text(left - 4.0, low - tall + 8.0, "end", &human_bytes(most as i64));
    svg.text(left - 4.0, low, "end", "0 B");
    svg.text(
        left,
        low + 14.0,
        "start",
        "Black: footprint, distinct bytes touched so far. Orange: distinct bytes touched in each part of the run.",
    );
    svg.problems(problems);
    svg.finish()
}

/// Writes `accesses.tsv`, `footprint.tsv`, `reuse.tsv`, `traffic.tsv` and `memory.gp`, which draws
/// them into `memory.svg`, into a folder.
pub fn gnuplot(connection: &Connection, folder: &Path) -> Result<(), ViewError> {
    let profile = memory(connection)?;
    let failed = |error| ViewError::Io { path: folder.display().to_string(), error };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|error| ViewError::Io { path: path.display().to_string(), error })
    };
    let pages = pages(&profile);
    let mut text = String::from("# seq\taddress\treads\twrites\tpage number, gaps closed\n");
    for (&(moment, page), &(reads, writes)) in &profile.pages {
        let (seq, row) =
            (profile.moments[moment].first_seq, pages.binary_search(&page).unwrap_or(0));
        let _ = writeln!(text, "{seq}\t{:#x}\t{reads}\t{writes}\t{row}", page * PAGE);
    }
    write("accesses.tsv", text)?;
    let mut text = String::from("# seq\treads\twrites\tbytes touched\tfootprint in bytes\n");
    for m in profile.moments.iter().filter(|m| m.first_seq > 0) {
        let _ = writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}",
            m.first_seq, m.reads, m.writes, m.touched, m.footprint
        );
    }
    write("footprint.tsv", text)?;
    let mut text = format!(
        "# distinct lines of {LINE} bytes since the last access\taccesses; first: {} accesses\n",
        profile.cold
    );
    for (class, count) in profile.reuse.iter().enumerate() {
        let _ = writeln!(text, "{}\t{count}", distance(class));
    }
    write("reuse.tsv", text)?;
    let mut text = String::from(
        "# variable\treads\tread bytes\twrites\twritten bytes\tdead bytes\tdistinct bytes\n",
    );
    for (name, t) in &profile.traffic {
        let name = crate::text::visible(name).replace('"', "'");
        let _ = writeln!(
            text,
            "\"{name}\"\t{}\t{}\t{}\t{}\t{}\t{}",
            t.volume.reads,
            t.volume.read_bytes,
            t.volume.writes,
            t.volume.written_bytes,
            t.dead_bytes,
            t.touched
        );
    }
    write("traffic.tsv", text)?;
    write("memory.gp", SCRIPT.to_owned())
}

const SCRIPT: &str = r#"# gnuplot memory.gp draws memory.svg from the tables beside it.
set terminal svg size 900,900 dynamic background rgb 'white'
set output 'memory.svg'
set datafile separator "\t"
set multiplot layout 3,1
set key outside
set xlabel 'step'
set ylabel 'page of 4 KiB, gaps closed'
plot 'accesses.tsv' using 1:($3 > 0 ? $5 : NaN) with points pt 7 ps 0.3 lc rgb '#1e5ac8' title 'reads', \
     '' using 1:($4 > 0 ? $5 + 0.4 : NaN) with points pt 7 ps 0.3 lc rgb '#d22828' title 'writes'
set ylabel 'bytes'
plot 'footprint.tsv' using 1:5 with lines lc rgb 'black' title 'footprint', \
     '' using 1:4 with lines lc rgb '#c8551b' title 'touched'
set xlabel 'distinct lines since the last access'
set ylabel 'accesses'
set logscale y
set style fill solid 0.6
set boxwidth 0.8
set xtics rotate by -45
plot 'reuse.tsv' using 0:2:xtic(1) with boxes lc rgb '#1f6fb4' title 'reuse distance'
unset multiplot
"#;
