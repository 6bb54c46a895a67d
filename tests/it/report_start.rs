//! The report begins with the program's own code: one switch for start-up, the dynamic linker and run-time
//! systems in every view, groups that open where there are hundreds of functions, and axe-core's findings.

use crate::common::browser::Browser;
use crate::common::*;
use crate::report::{show, thousand};
use addfg::internals::report::{Options, page};
use std::path::{Path, PathBuf};
use std::process::Command;

const FIRST_CALL: &str = "document.querySelector('#tree .tree-row[data-function] .tree-name').textContent.replace(/^[^a-zA-Z_]*/, '')";
const SHOWN: &str = "document.querySelector('main > section:not([hidden])').id";

/// A program with threads and a C++ library, recorded with all pairs.
fn program() -> Option<PathBuf> {
    if !["valgrind", "pkg-config", "g++"].iter().all(|tool| have(tool)) {
        return None;
    }
    Some(shared("page.duckdb", |db| {
        let elf = db.with_file_name("page");
        make("g++", &repository("tests/programs/page.cc"), &["-O1", "-pthread"], &elf);
        ok(&["record", "-q", "--detail", "pairs", "-o", utf8(db), "--", utf8(&elf)]);
    }))
}

/// The page with the text of the test programs.
fn with_text(browser: &mut Browser, scratch: &Scratch, db: &Path) {
    let file = scratch.path("page.html");
    let options = Options { sources: vec![repository("tests/programs")], ..Options::default() };
    std::fs::write(&file, page(&open(db), &options).unwrap()).unwrap();
    browser.open(&file);
}

/// Texts of elements, a line each.
fn texts(browser: &mut Browser, selector: &str) -> Vec<String> {
    let script =
        format!("[...document.querySelectorAll('{selector}')].map(e => e.textContent).join('\\n')");
    browser.text(&script).lines().map(str::to_owned).collect()
}

fn switch(browser: &mut Browser, on: bool) {
    // Another choice is another page.
    browser.run("window.before = true");
    browser.click("#with-all");
    browser.wait(&format!(
        "!window.before && document.querySelector('#with-all').checked === {on} && location.hash.includes('all=1') === {on} && document.querySelector('main > section:not([hidden])') !== null && document.querySelector('#panel').textContent !== ''"
    ));
}

/// Of a program without a C library what calls main is start-up, too; all views count its functions alike.
#[test]
fn what_leads_to_main_is_start_up() {
    let scratch = Scratch::new("report-entry");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &example("jpeg", "pairs"));
    browser.click("#tab-tree");
    assert_eq!(browser.text(FIRST_CALL), "main");
    browser.click("#tab-matrix");
    assert!(!texts(&mut browser, "#matrix-body [data-row]").contains(&"_start".to_owned()));
    let panel = "document.querySelector('#panel').textContent";
    let summary = "document.querySelector('#summary').textContent";
    assert!(browser.text(summary).contains(" 48 functions "), "{}", browser.text(summary));
    assert!(browser.text(panel).contains("functions48"), "{}", browser.text(panel));
    browser.click("#tab-graph");
    let status = browser.text("document.querySelector('#graph-status').textContent");
    assert!(status.contains(" of 48 functions and "), "{status}");
    browser.click("#tab-overview");
    let status = browser.text("document.querySelector('#glance-status').textContent");
    assert!(status.contains(" of 48 functions;"), "{status}");
    // With the switch the run begins where it did.
    browser.click("#tab-tree");
    switch(&mut browser, true);
    assert_eq!(browser.text(SHOWN), "tree");
    assert_eq!(browser.text(FIRST_CALL), "_start");
    assert!(browser.text(summary).contains(" 49 functions "), "{}", browser.text(summary));
    switch(&mut browser, false);
    assert_eq!(browser.text(FIRST_CALL), "main");
    browser.no_problems();
}

#[test]
fn every_view_begins_with_the_programs_own_code() {
    let scratch = Scratch::new("report-begins");
    let (Some(db), Some(mut browser)) = (program(), Browser::start(&scratch)) else { return };
    with_text(&mut browser, &scratch, &db);
    let all = |browser: &mut Browser, view: &str, selector: &str| {
        browser.click(&format!("#tab-{view}"));
        texts(browser, selector)
    };
    browser.click("#tab-tree");
    assert_eq!(browser.text(FIRST_CALL), "main");
    // The source is the program's, not a header that has more steps; its text is there.
    browser.click("#tab-source");
    let file = "document.querySelector('#source select').selectedOptions[0].textContent";
    assert!(browser.text(file).contains("tests/programs/page.cc"), "{}", browser.text(file));
    // Loops by the program's lines, with the library's behind.
    let loops = all(&mut browser, "loops", "#loops-body .whole");
    assert!(loops.iter().all(|place| place.starts_with("page.cc:")), "{loops:?}");
    assert!(loops.iter().any(|place| place.contains("(stl_vector.h:")), "{loops:?}");
    for (view, selector, own, other) in [
        ("matrix", "#matrix-body [data-row]", "bubble(int)", "_dl_relocate_object"),
        ("objects", "#objects-body tbody tr td:first-child", "values", "_rtld_global"),
        ("tables", "#table-body tbody tr td:first-child", "bubble(int)", "_dl_relocate_object"),
    ] {
        let names = all(&mut browser, view, selector);
        assert!(names.iter().any(|name| name == own), "{view}: {names:?}");
        assert!(names.iter().all(|name| name != other), "{view}: {names:?}");
        assert!(!names.iter().any(|name| name.contains("vgpreload")), "{view}: {names:?}");
    }
    // The graph has no sources that only the linker reads.
    let nodes = all(&mut browser, "graph", "#canvas .node .title");
    assert!(nodes.contains(&"main".to_owned()), "{nodes:?}");
    assert!(nodes.iter().all(|node| !node.contains("ld-linux")), "{nodes:?}");
    // The timeline begins where the program does, with arrows between threads.
    browser.click("#tab-timeline");
    let said = browser.text("document.querySelector('#timeline .tools').textContent");
    assert!(said.contains("Data between threads") && !said.contains(")0 to "), "{said}");
    // One switch for all: now they are there.
    switch(&mut browser, true);
    let objects = all(&mut browser, "objects", "#objects-body tbody tr td:first-child");
    assert!(objects.contains(&"_rtld_global".to_owned()), "{objects:?}");
    browser.click("#tab-tree");
    assert_ne!(browser.text(FIRST_CALL), "main");
    browser.no_problems();
}

/// Data that one thread wrote and another one read, each with its place on the timeline.
#[test]
fn arrows_lead_from_thread_to_thread() {
    let Some(db) = program() else { return };
    let found = addfg::internals::report::data(&open(&db), &Options::default()).unwrap();
    let arrows = found["timeline"]["arrows"].as_array().unwrap();
    let name = |place: &serde_json::Value| {
        found["functions"][usize::try_from(place.as_i64().unwrap()).unwrap()][1].clone()
    };
    let filled: i64 = arrows
        .iter()
        .filter(|a| name(&a[2]) == "fill(int, int)" && name(&a[7]) == "total()")
        .map(|a| a[10].as_i64().unwrap())
        .sum();
    // What bubble swapped is its own.
    assert!((11_000..=12_000).contains(&filled), "{filled} bytes");
    for arrow in arrows {
        assert!(arrow[0] != arrow[5] && arrow[3].as_i64() <= arrow[4].as_i64(), "{arrow}");
        assert!(arrow[3].as_i64() <= arrow[9].as_i64(), "{arrow}: written before it is read");
    }
}

/// The instructions of a line stand below it, and in the panel.
#[test]
fn assembly_stands_beside_the_source() {
    let scratch = Scratch::new("report-code");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &example("jpeg", "pairs"));
    browser.click("#tab-source");
    let rows = "document.querySelectorAll('#source-body tr.asm').length";
    assert_eq!(browser.number(rows), 0.0);
    browser.click("#with-code");
    assert!(browser.number(rows) > 100.0);
    let first = browser.text("document.querySelector('#source-body tr.asm').textContent");
    assert!(first.contains("0x40"), "{first}");
    browser.click_on("[...document.querySelectorAll('#source-body tr.hit .no')].find(n => n.getBoundingClientRect().top > 250)");
    assert!(
        browser.text("document.querySelector('#panel').textContent").contains("Its instructions")
    );
    // A function leads to each view that has a place for it.
    browser.click("#panel dd .link");
    let views = texts(&mut browser, "#panel .views .link");
    for view in ["Graph", "Call tree", "Callers and callees", "Matrix", "Timeline", "Source"] {
        assert!(views.iter().any(|v| v == view), "{view}: {views:?}");
    }
    browser.click_on("[...document.querySelectorAll('#panel .views .link')].find(l => l.textContent === 'Timeline')");
    assert_eq!(browser.text(SHOWN), "timeline");
    browser.no_problems();
}

/// Hundreds of functions are files, or what else there are several of, which open.
#[test]
fn groups_open_and_close() {
    let scratch = Scratch::new("report-open");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &shared("thousand.duckdb", thousand));
    browser.click("#tab-graph");
    let groups = "document.querySelectorAll('#canvas .node.group').length";
    let functions = "document.querySelectorAll('#canvas .node:not(.group):not(.pseudo)').length";
    assert!(browser.number(groups) > 10.0 && browser.number(functions) == 0.0);
    browser.click("#canvas .node.group");
    browser.click_on("[...document.querySelectorAll('#panel button')].find(b => b.textContent === 'Open this group')");
    assert!(browser.number(functions) > 0.0, "{}", browser.number(functions));
    browser.click("#grouping-open");
    assert_eq!(browser.number(functions), 0.0);
    // By function, and back by the address.
    browser.run("(() => { const pick = document.querySelector('select.grouping'); pick.value = 'none'; pick.dispatchEvent(new Event('change')); })()");
    assert!(browser.number(groups) == 0.0 && browser.number(functions) > 10.0);
    assert!(browser.text("location.hash").contains("group=none"));
    browser.run("history.back()");
    browser.wait(&format!("{groups} > 10"));
    // The data between two groups is the sum of that between their functions.
    let sum = "(() => { const raw = JSON.parse(document.querySelector('#data').textContent), file = i => raw.functions[i][3]; let n = 0;
               for (const d of raw.data) if (d[0] !== null && file(d[0]) !== file(d[1])) n += d[3]; return n; })()";
    let said = browser.text("document.querySelector('#graph-status').textContent");
    let crossing = browser.number(sum);
    let gib = format!("{:.1} GiB", crossing / f64::from(1 << 30));
    assert!(said.contains(&format!("of {gib} between groups")), "{said}: {gib}");
    // A matrix of all, those that exchange most as neighbours.
    browser.click("#tab-matrix");
    browser.run("(() => { const pick = document.querySelector('#matrix-order'); pick.value = 'cluster'; pick.dispatchEvent(new Event('change')); })()");
    assert!(browser.number("document.querySelectorAll('#matrix-body [data-row]').length") > 20.0);
    browser.no_problems();
}

/// Clusters of a matrix are those of the data: two sets that exchange nothing are two.
#[test]
fn clusters_are_those_of_the_data() {
    let scratch = Scratch::new("report-clusters");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    let db = scratch.copy(&shared("thousand.duckdb", thousand), "clusters.duckdb");
    // Each function exchanges data with those of its remainder by three.
    change(
        &db,
        "UPDATE function_symbol SET name = 'function_' || function_id;
         DELETE FROM function_edge_folded; INSERT INTO function_edge_folded
         SELECT 1 + i, 1 + (i + 3) % 60, 'heap', 1000, 1000, 1000, 1 FROM range(60) t(i);
         INSERT INTO function_edge_folded SELECT 1 + i, 1 + (i + 6) % 60, 'heap', 1000, 1000, 1000, 1 FROM range(60) t(i)",
    );
    show(&mut browser, &scratch, &db);
    browser.run("location.hash = '#view=matrix&group=none'");
    browser.wait(&format!("{SHOWN} === 'matrix'"));
    browser.run("(() => { const top = document.querySelector('#matrix-top'), pick = document.querySelector('#matrix-order'); top.value = 60; pick.value = 'cluster'; pick.dispatchEvent(new Event('change')); })()");
    let rows = texts(&mut browser, "#matrix-body [data-row]");
    let of = |name: &String| {
        let number = name.strip_prefix("function_");
        (number.unwrap().parse::<usize>().unwrap() - 1) % 3
    };
    let kinds: Vec<usize> = rows.iter().filter(|r| r.starts_with("function_")).map(of).collect();
    let turns = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!((kinds.len(), turns), (60, 2), "{rows:?}");
    browser.no_problems();
}

/// The keyboard goes through the cells of the matrix.
#[test]
fn the_matrix_has_a_keyboard() {
    let scratch = Scratch::new("report-keys");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &example("jpeg", "pairs"));
    browser.click("#tab-matrix");
    browser.run("document.querySelector('#matrix-body .cell[tabindex=\"0\"]').focus()");
    let at = "document.activeElement.dataset.at";
    let first = browser.text(at);
    browser.key("ArrowDown");
    let below = browser.text(at);
    assert_ne!(first, below);
    browser.key("ArrowRight");
    browser.key("Enter");
    assert!(browser.text("document.querySelector('#panel').textContent").contains("bytes"));
    browser.no_problems();
}

/// From 500 to 2560 pixels: nothing is wider than the window, every tab can be reached, and the view has most
/// of the room.
#[test]
fn it_fits_small_and_large_windows() {
    let scratch = Scratch::new("report-widths");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &example("jpeg", "pairs"));
    for width in [500, 800, 1400, 2560] {
        browser.resize(width, if width < 900 { 800 } else { 1200 });
        for view in [
            "overview", "graph", "tree", "flame", "matrix", "timeline", "objects", "source",
            "tables",
        ] {
            // A click brings a tab into the window, as a finger does.
            browser.run(&format!("document.querySelector('#tab-{view}').scrollIntoView()"));
            browser.click(&format!("#tab-{view}"));
            let seen = "document.querySelector('main > section:not([hidden])')";
            assert_eq!(browser.text(&format!("{seen}.id")), view, "{width}");
            let over = browser.number("document.documentElement.scrollWidth - innerWidth");
            assert!(over <= 0.0, "{view} is {over} pixels wider than {width}");
            let room = format!(
                "(r => r.width * r.height / innerWidth / innerHeight)({seen}.getBoundingClientRect())"
            );
            let share = browser.number(&room);
            assert!(share > 0.5, "{view} has {share} of a window of {width}");
        }
    }
    browser.no_problems();
}

/// Where npm's packages are there (`.ci/axe.sh --install`): no serious finding in any view, in both themes.
#[test]
fn axe_has_no_serious_findings() {
    let folder = match std::env::var_os("ADDFG_NODE") {
        Some(folder) => PathBuf::from(folder),
        None => {
            PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/addfg/node")
        }
    };
    if !installed("node") || !folder.join("node_modules/axe-core").is_dir() || !have("chromium") {
        skipped("accessibility of the report: .ci/axe.sh --install has not been run (npm)");
        return;
    }
    let scratch = Scratch::new("report-axe");
    let mut pages = vec![scratch.path("jpeg.html")];
    let options = Options { sources: vec![repository("examples/jpeg")], ..Options::default() };
    let text = page(&open(&example("jpeg", "pairs")), &options).unwrap();
    std::fs::write(&pages[0], text).unwrap();
    if let Some(db) = program() {
        let file = scratch.path("threads.html");
        let options = Options { sources: vec![repository("tests/programs")], ..options };
        std::fs::write(&file, page(&open(&db), &options).unwrap()).unwrap();
        pages.push(file);
    }
    for file in pages {
        let ran = Command::new("sh")
            .args([utf8(&repository(".ci/axe.sh")), utf8(&file)])
            .env("ADDFG_NODE", &folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains("views looked at, 0 serious findings"), "{said}");
    }
}
