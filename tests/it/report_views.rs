//! Views of the HTML report: files first, loops, memory, objects, changes. Their data equals what the
//! commands print; in Chromium they show it.

use crate::common::browser::Browser;
use crate::common::*;
use crate::report::{hostile, number, show, sum, thousand};
use addfg::internals::report::{Options, Replayed, data, page};
use serde_json::Value;

/// Columns of loops and objects in the page's rows.
const LOOP_STEPS: usize = 6;
const OBJECT_READ: usize = 5;
const OBJECT_WRITTEN: usize = 7;
const OBJECT_USERS: usize = 11;

const BOXES: &str = "document.querySelectorAll('#glance .node').length";
const SHOWN: &str = "document.querySelector('main > section:not([hidden])').id";

fn csv_rows(arguments: &[&str]) -> Vec<Vec<String>> {
    let text = ok(arguments);
    text.lines().skip(1).map(|l| l.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn loops_memory_and_objects_equal_what_the_commands_print() {
    let db = example("jpeg", "pairs");
    let found = data(&open(&db), &Options::default()).unwrap();
    let loops = csv_rows(&["loops", utf8(&db), "--limit", "0", "--format", "csv"]);
    assert_eq!(found["loops"]["all"], loops.len());
    assert_eq!(found["loops"]["carried"], true);
    let steps: i64 = loops.iter().map(|l| l[5].parse::<i64>().unwrap()).sum();
    assert_eq!(sum(&found["loops"]["rows"], LOOP_STEPS), steps);
    // Each object by its name: what it read, wrote, and what was in vain.
    let traffic = csv_rows(&["memory", utf8(&db), "--format", "csv"]);
    let objects = found["objects"]["rows"].as_array().unwrap();
    assert_eq!(objects.len(), traffic.len());
    for row in &traffic {
        let object = objects.iter().find(|o| o[0] == row[0].as_str()).unwrap();
        let number = |i: usize| Value::from(row[i].parse::<i64>().ok());
        let figures = [&object[4], &object[5], &object[6], &object[7], &object[8]];
        assert_eq!(
            figures.map(Value::clone),
            [number(1), number(2), number(4), number(5), number(7)]
        );
        assert_eq!(object[OBJECT_READ], sum(&object[OBJECT_USERS], 2), "{object}");
        assert_eq!(object[OBJECT_WRITTEN], sum(&object[OBJECT_USERS], 4), "{object}");
    }
    // Each access is in a part of the run, and in a page.
    let accesses: i64 =
        traffic.iter().map(|t| t[1].parse::<i64>().unwrap() + t[4].parse::<i64>().unwrap()).sum();
    let memory = &found["memory"];
    assert_eq!(sum(&memory["moments"], 1) + sum(&memory["moments"], 2), accesses);
    assert_eq!(sum(&memory["cells"], 2) + sum(&memory["cells"], 3), accesses);
}

/// Of the plan's first sets the page has what `addfg cut --callees` prints.
#[test]
fn cuts_equal_what_the_command_prints() {
    let db = example("jpeg", "pairs");
    let found = data(&open(&db), &Options::default()).unwrap();
    let rows = |part: &str| found["cuts"][part].as_array().unwrap().clone();
    let (figures, flows) = (rows("figures"), rows("flows"));
    let mut sets: Vec<&Value> = figures.iter().map(|row| &row[0]).collect();
    sets.dedup();
    assert!(!sets.is_empty() && sets.len() <= 3, "{sets:?}");
    for set in sets {
        let name = found["functions"][usize::try_from(set.as_u64().unwrap()).unwrap()][1].as_str();
        for (part, shown, limit) in [(&figures, "figures", "0"), (&flows, "flows", "20")] {
            let printed = csv_rows(&[
                "cut",
                utf8(&db),
                name.unwrap(),
                "--callees",
                "--show",
                shown,
                "--limit",
                limit,
                "--format",
                "csv",
            ]);
            let of_set: Vec<&Value> =
                part.iter().filter(|row| row[0] == *set).map(|r| &r[1]).collect();
            assert_eq!(of_set.len(), printed.len(), "{shown} of {name:?}");
            for (row, line) in of_set.iter().zip(&printed) {
                for (cell, text) in row.as_array().unwrap().iter().zip(line) {
                    let same = match cell {
                        Value::Number(n) => n.as_f64() == text.parse().ok(),
                        Value::String(s) => s == text || text.starts_with('"'),
                        _ => text.is_empty(),
                    };
                    assert!(same, "{cell} and {text} in {line:?}");
                }
            }
        }
    }
    // A packed run has them whatever its detail.
    let cuts =
        |detail| data(&open(&example("jpeg", detail)), &Options::default()).unwrap()["cuts"].take();
    assert_eq!(cuts("instance"), cuts("pairs"));
}

#[test]
fn runs_that_are_too_long_say_so() {
    let connection = open(&example("fir", "pairs"));
    let replayed = Replayed { memory: 10, carried: 10 };
    let found = data(&connection, &Options { replayed, ..Options::default() }).unwrap();
    assert!(found["memory"].is_null());
    assert_eq!(found["loops"]["carried"], false);
    assert!(!found["loops"]["rows"].as_array().unwrap().is_empty());
    // Who accesses an object needs no second look at the run; what became of its bytes does.
    let object = &found["objects"]["rows"][0];
    assert!(object[OBJECT_READ].as_i64().unwrap() > 0 && object[8].is_null(), "{object}");
    let missing = found["missing"].to_string();
    assert_eq!(missing.matches("report --all").count(), 2, "{missing}");
    // Without steps there is nothing to look at.
    let summary = data(&open(&large()), &Options::default()).unwrap();
    assert!(summary["memory"].is_null() && summary["objects"].is_null());
}

#[test]
fn loops_memory_and_objects_in_the_browser() {
    let scratch = Scratch::new("report-memory");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    let db = example("jpeg", "pairs");
    show(&mut browser, &scratch, &db);
    browser.click("#tab-loops");
    let rows = |view: &str| format!("document.querySelectorAll('#{view}-body tbody tr').length");
    let loops = csv_rows(&["loops", utf8(&db), "--limit", "0", "--format", "csv"]).len();
    assert_eq!(browser.number(&rows("loops")), loops as f64);
    browser.click("#loops .tools input");
    browser.type_text("decode_block");
    assert!(browser.number(&rows("loops")) < loops as f64);
    browser.click("#loops-body tbody tr td.number");
    let panel = "document.querySelector('#panel').textContent";
    assert!(browser.text(panel).contains("Later iterations read what earlier ones wrote"));
    assert_eq!(browser.number("document.querySelectorAll('#loops-body tr.chosen').length"), 1.0);

    browser.click("#tab-memory");
    assert!(browser.number("document.querySelectorAll('#pages path').length") > 5.0);
    let labels =
        "[...document.querySelectorAll('#pages text')].map(t => t.getBoundingClientRect())";
    let overlap = format!(
        "(() => {{ const all = {labels}; return all.filter((a, i) => all.some((b, k) => k < i && a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)).length; }})()"
    );
    assert_eq!(browser.number(&overlap), 0.0, "labels on one another");

    // What crosses the border of what is worth moving.
    browser.click("#tab-tables");
    for (table, words) in
        [("cuts", ["unique_bytes_in", "round_trips"]), ("cutFlows", ["in", "out"])]
    {
        browser.run(&format!(
            "(() => {{ const pick = document.querySelector('#table-pick'); pick.value = '{table}'; pick.dispatchEvent(new Event('change')); }})()"
        ));
        let shown = browser.text("document.querySelector('#table-body').textContent");
        assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
    }

    browser.click("#tab-objects");
    browser.click_on("[...document.querySelectorAll('#objects-body tbody tr')].find(r => r.textContent.includes('arena_used')).cells[3]");
    let said = browser.text(panel);
    assert!(said.contains("Written by") && said.contains("allocate"), "{said}");
    // A function of the panel leads to what is around it.
    browser.click("#panel .list .link");
    assert!(browser.text("location.hash").contains("function="));
    // The address leads back to a view.
    browser.run("history.back()");
    browser.wait(&format!("{SHOWN} === 'objects' && !location.hash.includes('function=')"));

    // Hostile names are texts here, too.
    show(&mut browser, &scratch, &hostile(&scratch));
    for view in ["loops", "memory", "objects"] {
        browser.click(&format!("#tab-{view}"));
    }
    assert_eq!(browser.number("document.querySelectorAll('img').length"), 0.0);
    browser.no_problems();
}

#[test]
fn changes_between_two_builds() {
    let scratch = Scratch::new("report-changes");
    let (before, after) = (example("fir", "pairs"), scratch.path("literal.duckdb"));
    let [log, elf] = example_files("fir");
    load(&log, &elf, &after, &["--saves", "literal"]);
    let out = scratch.path("page.html");
    ok(&["report", utf8(&after), "--against", utf8(&before), "-o", utf8(&out)]);
    let text = std::fs::read_to_string(&out).unwrap();
    let (_, blob) = text.split_once("id=\"data\">").unwrap();
    let blob: Value = serde_json::from_str(blob.split_once("</script>").unwrap().0).unwrap();
    // As the command counts them, the other way round.
    let listed =
        csv_rows(&["diff", utf8(&before), utf8(&after), "--limit", "0", "--format", "csv"]);
    let rows = blob["changes"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), listed.len());
    let listed_sum: i64 = listed.iter().map(|r| r[5].parse::<i64>().unwrap_or(0)).sum();
    assert!(!listed.is_empty() && sum(&blob["changes"]["rows"], 5) == listed_sum);
    // The page is that of the second run.
    assert_eq!(
        sum(&blob["data"], 3),
        number(&open(&after), "SELECT sum(bytes)::BIGINT FROM function_edge")
    );
    let alone = page(&open(&after), &Options::default()).unwrap();
    assert!(alone.contains("\"changes\":null"));

    let Some(mut browser) = Browser::start(&scratch) else { return };
    browser.open(&out);
    browser.click("#tab-changes");
    let shown = "document.querySelectorAll('#changes-body tbody tr').length";
    assert_eq!(browser.number(shown), rows.len().min(200) as f64);
    assert!(browser.number("document.querySelectorAll('#changes-body .grew').length") > 0.0);
    show(&mut browser, &scratch, &after);
    assert_eq!(browser.text("String(document.querySelector('#tab-changes').hidden)"), "true");
    browser.no_problems();
}

/// Where there are hundreds of functions the boxes are files; each opens to its functions.
#[test]
fn files_come_first_where_there_are_hundreds() {
    let scratch = Scratch::new("report-files");
    let db = scratch.copy(&shared("thousand.duckdb", thousand), "hundreds.duckdb");
    // Functions of so few steps a call are helpers, never boxes.
    change(
        &db,
        "UPDATE function_call_row SET steps_self = 10 + 20000 // function_id; DELETE FROM function_profile;
         INSERT INTO function_profile
         SELECT function_id, count(*), sum(steps_self), sum(steps_total), 0, 0 FROM function_call GROUP BY ALL",
    );
    let found = data(&open(&db), &Options::default()).unwrap();
    assert!(!found["overview"]["byFile"].is_null());
    let Some(mut browser) = Browser::start(&scratch) else { return };
    show(&mut browser, &scratch, &db);
    assert_eq!(browser.text(SHOWN), "overview");
    let files = "document.querySelectorAll('#glance .node.file').length";
    let functions = "document.querySelectorAll('#glance .node.function').length";
    let first = browser.number(files);
    assert!(first >= 3.0 && browser.number(functions) == 0.0, "{first} files");
    assert!(browser.number(BOXES) <= 16.0);
    // A file opens to its functions, and closes.
    browser.click("#glance .node.file.opens");
    assert!(browser.number(functions) >= 1.0);
    browser.click("#glance-path button");
    assert_eq!(browser.number(files), first);
    // Functions instead of files, and back; the address remembers it.
    browser.click("#glance-kind");
    assert!(browser.number(files) == 0.0 && browser.number(functions) >= 3.0);
    assert!(browser.text("location.hash").contains("by=functions"));
    browser.reload();
    browser.wait(&format!("{functions} > 0"));
    browser.click("#glance-kind");
    assert_eq!(browser.number(files), first);
    browser.no_problems();
}

/// The page has of groups what `addfg graph --group`, `matrix --group` and `cut` print.
#[test]
fn groups_are_nodes_of_graph_and_matrix() {
    let scratch = Scratch::new("report-groups");
    let db = example("jpeg", "pairs");
    let huffman = "stbi__jpeg_decode_block,stbi__get8,stbi__grow_buffer_unsafe";
    let list = [format!("huffman <b>={huffman}"), "idct=glob:stbi__idct*,stbi__clamp".to_owned()];
    let options = ["--group", &list[0], "--group", &list[1]];
    let out = scratch.path("page.html");
    ok(&[&["report", utf8(&db), "-o", utf8(&out)], &options[..]].concat());
    let text = std::fs::read_to_string(&out).unwrap();
    let (_, blob) = text.split_once("id=\"data\">").unwrap();
    let found: Value = serde_json::from_str(blob.split_once("</script>").unwrap().0).unwrap();
    let functions = found["functions"].as_array().unwrap();
    let name = |at: &Value| -> String {
        let at = usize::try_from(at.as_u64().unwrap()).unwrap();
        let node = match at.checked_sub(functions.len()) {
            Some(group) => &found["groups"]["nodes"][group][0],
            None => &functions[at][1],
        };
        node.as_str().unwrap().to_owned()
    };
    let graph = ["graph", utf8(&db), "--format", "json", "--min-bytes", "0", "--top", "10000"];
    let graph: Value = serde_json::from_str(&ok(&[&graph[..], &options].concat())).unwrap();
    let named = |id: &Value| {
        graph["nodes"].as_array().unwrap().iter().find(|n| n["id"] == *id).unwrap()["name"].clone()
    };
    let is_group = |name: &str| ["huffman <b>", "idct"].contains(&name);
    let (mut data, mut calls) = (Vec::new(), Vec::new());
    for edge in graph["edges"].as_array().unwrap() {
        let ends =
            [named(&edge["from"]), named(&edge["to"])].map(|n| n.as_str().unwrap().to_owned());
        if !ends.iter().any(|name| is_group(name)) {
            continue;
        }
        if edge["kind"] == "call" || edge["kind"] == "calls" {
            calls.push(format!("{ends:?} {}", edge["calls"]));
        }
        for via in edge["via"].as_array().into_iter().flatten() {
            let figures =
                ["bytes", "unique_bytes", "addresses", "transfers"].map(|f| via[f].to_string());
            data.push(format!("{ends:?} {} {figures:?}", via["via"].as_str().unwrap()));
        }
    }
    let rows = |part: &str| found["groups"][part].as_array().unwrap().clone();
    let mut listed: Vec<String> = rows("data")
        .iter()
        .filter(|row| row[0] != row[1])
        .map(|row| {
            let ends = [name(&row[0]), name(&row[1])];
            let figures = [3, 4, 5, 6].map(|i| row[i].to_string());
            let via = &found["via"][usize::try_from(row[2].as_u64().unwrap()).unwrap()];
            format!("{ends:?} {} {figures:?}", via.as_str().unwrap())
        })
        .collect();
    listed.sort();
    data.sort();
    assert!(data.len() > 10, "{data:?}");
    assert_eq!(listed, data);
    let mut called: Vec<String> = rows("calls")
        .iter()
        .map(|row| format!("{:?} {}", [name(&row[0]), name(&row[1])], row[2]))
        .collect();
    called.sort();
    calls.sort();
    assert!(calls.len() > 2, "{graph}");
    assert_eq!(called, calls);
    // The cuts are of the groups, without what they call.
    let cuts = found["cuts"]["figures"].as_array().unwrap();
    for (group, words) in [("huffman <b>", huffman), ("idct", "glob:stbi__idct*,stbi__clamp")] {
        let printed = csv_rows(&["cut", utf8(&db), words, "--format", "csv"]);
        let of_group: Vec<&Value> =
            cuts.iter().filter(|row| name(&row[0]) == group).map(|row| &row[1]).collect();
        assert_eq!(of_group.len(), printed.len());
        for (row, line) in of_group.iter().zip(&printed) {
            assert_eq!(
                (row[0].as_str(), row[1].as_f64()),
                (Some(&line[0][..]), line[1].parse().ok())
            );
        }
    }
    assert!(cuts.iter().all(|row| is_group(&name(&row[0]))));
    // What did not run on this input is no reason against the page.
    let idle = "idle=stbi__jpeg_decode_block_prog_ac";
    ok(&[
        "report",
        utf8(&db),
        "--group",
        &list[1],
        "--group",
        idle,
        "-o",
        utf8(&scratch.path("i")),
    ]);
    // Without groups there is nothing of it; a name of no function is said.
    assert!(data_of(&db)["groups"].is_null());
    refused(&["report", utf8(&db), "--group", "x=nothing", "-o", utf8(&out)], &["nothing"]);

    let Some(mut browser) = Browser::start(&scratch) else { return };
    browser.open(&out);
    browser.click("#tab-graph");
    let nodes = "[...document.querySelectorAll('#canvas .node .title')].map(t => t.textContent)";
    let has = |what: &str| format!("{nodes}.filter(t => {what}).length");
    assert_eq!(browser.number(&has("t === 'huffman <b>' || t === 'idct'")), 2.0);
    assert_eq!(browser.number(&has("t.startsWith('stbi__idct') || t === 'stbi__get8'")), 0.0);
    assert_eq!(browser.number(&has("t === 'stbi__process_marker'")), 1.0);
    browser.click_on("[...document.querySelectorAll('#canvas .node')].find(n => n.textContent.includes('idct')).querySelector('rect')");
    let panel = "document.querySelector('#panel').textContent";
    let said = browser.text(panel);
    assert!(said.contains("group of 2 functions") && said.contains("stbi__clamp"), "{said}");
    // A function of the group leads to what is around the group.
    browser.click_on(
        "[...document.querySelectorAll('#panel .link')].find(l => l.textContent === 'stbi__clamp')",
    );
    assert!(browser.text(panel).contains("part of idct"));
    assert!(browser.text("document.querySelector('#focus').textContent").contains("idct"));
    browser.click("#tab-matrix");
    let names = "[...document.querySelectorAll('#matrix-body [data-row]')].map(t => t.textContent)";
    assert_eq!(browser.number(&format!("{names}.filter(t => t === 'idct').length")), 1.0);
    assert_eq!(browser.number(&format!("{names}.filter(t => t === 'stbi__clamp').length")), 0.0);
    browser.click("#tab-tables");
    browser.run(
        "(() => { const pick = document.querySelector('#table-pick'); pick.value = 'cuts'; pick.dispatchEvent(new Event('change')); })()",
    );
    let shown = browser.text("document.querySelector('#table-body').textContent");
    assert!(shown.contains("huffman <b>") && shown.contains("round_trips"), "{shown}");
    browser.no_problems();
}

fn data_of(db: &std::path::Path) -> Value {
    data(&open(db), &Options::default()).unwrap()
}

/// The flame graph with callers and callees, the search by a regular expression, spans of the timeline.
#[test]
fn flames_searches_and_spans_answer() {
    let scratch = Scratch::new("report-own");
    let Some(mut browser) = Browser::start(&scratch) else { return };
    let db = example("jpeg", "pairs");
    show(&mut browser, &scratch, &db);
    // The flame graph: a click opens a box, and says who calls the function and what it calls.
    browser.click("#tab-flame");
    let boxes = "document.querySelectorAll('#flame .flame button').length";
    assert!(browser.number(boxes) > 5.0);
    browser.click_on("[...document.querySelectorAll('#flame .flame button')].find(b => b.textContent.includes('decode_block'))");
    let titles = "[...document.querySelectorAll('.sandwich h3')].map(h => h.textContent).join()";
    assert!(
        browser.text(titles).contains("Callers of stbi__jpeg_decode_block"),
        "{}",
        browser.text(titles)
    );
    // The search finds a line by a regular expression for its function, and stays.
    browser.click("#search");
    browser.type_text("/idct.*block$/");
    browser.key("Enter");
    assert_eq!(browser.text(SHOWN), "flame");
    browser.click("#tab-tables");
    let csv = "(() => { let text = null; const made = URL.createObjectURL; URL.createObjectURL = blob => { text = blob; return made(blob); };
               [...document.querySelectorAll('#tables button')].find(b => b.textContent === 'Save as CSV').click(); return String(text.type) + text.size; })()";
    assert!(browser.text(csv).starts_with("text/csv"));
    browser.no_problems();
}
