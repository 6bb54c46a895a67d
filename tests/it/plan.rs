//! Which functions are worth moving, and how a program is cut into parts.

use crate::common::*;
use crate::record::record;
use std::process::Command;

/// Rows of CSV by their fields.
fn fields(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The functions that sets to move are named after.
fn moved(text: &str) -> Vec<String> {
    let rows = fields(text).into_iter().filter(|row| row[0] == "yes");
    rows.map(|row| row[1].clone()).collect()
}

/// Nobody says that a JPEG decoder has an inverse transform and a colour conversion.
#[test]
fn a_jpeg_decoder_moves_its_transform_and_its_colours() {
    let db = example("jpeg", "pairs");
    let db = utf8(&db);
    let text = ok(&["plan", db, "--format", "csv", "--code", "20"]);
    let sets = moved(&text);
    for name in ["stbi__idct_block", "stbi__YCbCr_to_RGB_row"] {
        assert!(sets.iter().any(|set| set == name), "{name} is not in {text}");
    }
    // What comes in is what `cut` counts, as the transform reads with what it calls.
    let row = fields(&text).into_iter().find(|row| row[1] == "stbi__idct_block").unwrap();
    assert_eq!((&row[4][..], &row[6][..]), ("24", "3552"), "{text}");
    let cut = ok(&["cut", db, "stbi__idct_block", "--callees", "--format", "csv"]);
    assert!(cut.contains("unique_bytes_in,3552"), "{cut}");
    // The same run twice: least and most are the same.
    let twice = ok(&["plan", db, db, "--format", "csv", "--code", "20"]);
    for row in fields(&twice) {
        let [.., steps_least, steps_most, gain_least, gain_most] = &row[..] else { panic!() };
        assert_eq!((steps_least, gain_least), (steps_most, gain_most));
        assert_eq!((steps_least, gain_least), (&row[5], &row[9]));
    }
}

/// What is counted is what `cut` counts of each set, whatever sums say.
#[test]
fn exact_figures_are_those_of_cut() {
    let mut differ = 0;
    for name in ["jpeg", "fir"] {
        let db = example(name, "pairs");
        let db = utf8(&db);
        let plan = |words: &[&str]| {
            let all = ["plan", db, "--limit", "0", "--least", "0", "--format", "csv"];
            fields(&ok(&[&all, words].concat()))
        };
        let (estimated, counted) = (plan(&[]), plan(&["--exact"]));
        assert!(counted.len() > 3 && counted.len() == estimated.len());
        for row in &counted {
            let number =
                |at: usize| row[at].parse::<u64>().unwrap_or_else(|e| panic!("{row:?}: {e}"));
            let cut =
                ok(&["cut", db, &row[1], "--callees", "--show", "figures", "--format", "csv"]);
            let figure = |name: &str| {
                let line = cut.lines().find(|line| line.split(',').next() == Some(name)).unwrap();
                line.split(',').nth(1).unwrap().parse::<u64>().unwrap()
            };
            assert_eq!(number(4), figure("entries"), "{row:?}\n{cut}");
            // What was there before the program began is sent once, and the kernel takes some.
            let (read, sent) = (figure("unique_bytes_in"), figure("unique_bytes_out"));
            assert!(
                number(6) <= read && number(6) >= figure("addresses_in").min(read),
                "{row:?}\n{cut}"
            );
            assert!((sent..=sent + number(12)).contains(&number(7)), "{row:?}\n{cut}");
            differ += usize::from(!estimated.contains(row));
        }
        let set = plan(&["--exact", "--set", &counted[0][1]]);
        assert_eq!(set[0][4..8], counted[0][4..8]);
    }
    assert!(differ > 0, "sums knew it all");
    let db = example("fir", "pairs");
    refused(&["plan", utf8(&db), "--exact", "--show", "loops"], &["--exact", "--show loops"]);
}

/// Nobody says that bzip2 sorts.
#[test]
fn bzip2_moves_its_sort() {
    let library = ["/usr/lib/x86_64-linux-gnu/libbz2.a", "/usr/lib/libbz2.a"];
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    if !library.iter().any(|path| std::path::Path::new(path).exists()) {
        eprintln!("skipped: there is no libbz2.a");
        return;
    }
    let scratch = Scratch::new("plan-bzip2");
    let source = scratch.write(
        "compress.c",
        "#include <bzlib.h>
         static char in[60000], out[120000];
         int main(void) {
             unsigned m = sizeof out, s = 1;
             for (unsigned i = 0; i < sizeof in; i++) {
                 s = s * 1103515245 + 12345;
                 in[i] = (s >> 16) % 7 ? \"the quick brown fox \"[i % 20] : 'a' + (s >> 20) % 26;
             }
             return BZ2_bzBuffToBuffCompress(out, &m, in, sizeof in, 9, 0, 30);
         }",
    );
    let program = scratch.path("compress");
    let gcc = ["-O2", "-g", "-static", "-o", utf8(&program), utf8(&source), "-lbz2"];
    assert!(Command::new("gcc").args(gcc).status().expect("gcc").success());
    let db = scratch.path("compress.duckdb");
    let options = ["-o", utf8(&db), "--detail", "summary", "-q"];
    let output = record(&options, &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let text = ok(&["plan", utf8(&db), "--format", "csv"]);
    let sets = moved(&text);
    let sorts = ["BZ2_blockSort", "mainSort"];
    assert!(sets.iter().any(|set| sorts.contains(&&set[..])), "{text}");
}

/// A loop's bytes are what its instructions exchange with others.
#[test]
fn loops_are_priced_by_their_instructions() {
    let db = example("fir", "pairs");
    let text = ok(&["plan", utf8(&db), "--show", "loops", "--format", "csv"]);
    let loops = fields(&text);
    assert!(loops.len() > 2, "{text}");
    let listed = ok(&["loops", utf8(&db), "--quick", "--format", "csv", "--limit", "0"]);
    assert_eq!(loops.len(), fields(&listed).len());
    for row in &loops {
        let same = fields(&listed).into_iter().find(|of| of[..3] == row[..3]);
        let of = same.unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!((&row[4], &row[5]), (&of[3], &of[4]), "{row:?}");
        assert!(row[7].parse::<u64>().unwrap() > 0, "{row:?}");
    }
    let sums = example("fir", "sums");
    refused(&["plan", utf8(&sums), "--show", "loops"], &["--no-steps"]);
}

#[test]
fn odd_sets_have_clear_answers() {
    let db = example("jpeg", "pairs");
    let db = utf8(&db);
    refused(&["plan", db, "--set", "no_such_function"], &["no_such_function"]);
    refused(&["plan", db, "--keep", "no_such_*"], &["no_such_*"]);
    refused(&["plan", db, "--set", ","], &["the set has no function"]);
    refused(&["plan", db, "--set", "main#1"], &["not single calls"]);
    refused(&["plan", db, "--link", "fast"], &["RATE,LATENCY"]);
    refused(&["plan", db, "--show", "between"], &["--parts"]);
    refused(&["plan", db, "--parts", "1"], &["--parts"]);
    assert!(said(&addfg(&["plan", db, "--set", "main"])).contains("the program's first function"));
    // What never ran is no set, and says so.
    let never = rows(
        &example("jpeg", "pairs"),
        "SELECT name FROM function_symbol WHERE kind = 'function' AND function_id NOT IN (SELECT function_id FROM function_profile) LIMIT 1",
    );
    refused(&["plan", db, "--set", &never[0]], &["none of these functions ran"]);
    // A slow link moves nothing, and what stays is in no set.
    let slow = addfg(&["plan", db, "--link", "1kB/s,1ms"]);
    assert!(printed(&slow).starts_with("Nothing to move."), "{}", printed(&slow));
    assert!(said(&slow).contains("nothing gains"), "{}", said(&slow));
    let kept = ok(&["plan", db, "--format", "csv", "--keep", "stbi__idct_block"]);
    assert!(!kept.contains("stbi__idct_block"), "{kept}");
    // Traces without data.
    let xray = Scratch::new("plan-xray");
    let (code, said, db) =
        build_in(&xray, &[&repository("tests/formats/xray/good-fdr5.xray")], &["-q"]);
    assert_eq!(code, 0, "{said}");
    refused(&["plan", utf8(&db)], &["this database has no dataflow"]);
    // Dependences without sizes.
    let wet = Scratch::new("plan-wet");
    let trace = repository("tests/formats/wet/good-comprehensive.wet");
    let (_, _, db) = build_in(&wet, &[&trace], &["-q"]);
    refused(&["plan", utf8(&db)], &["this database has no "]);
}

/// Parts have all steps, and what is between them is what `function_dataflow` has.
#[test]
fn parts_add_up_to_the_program() {
    let db = example("jpeg", "pairs");
    let steps = |options: &[&str]| {
        let text = ok(&[&["plan", utf8(&db), "--format", "csv"], options].concat());
        let parts = fields(&text.replace(", ", ";"));
        parts.iter().map(|row| row[3].parse::<u64>().unwrap()).sum::<u64>()
    };
    // Repeated string instructions are one step here.
    let all = |whose: &str| {
        let functions = ok(&["sql", utf8(&db), "@hot_functions", "0", whose, "--format", "csv"]);
        let all = fields(&functions).into_iter();
        all.map(|row| row[2].parse::<u64>().unwrap() - row[4].parse::<u64>().unwrap()).sum::<u64>()
    };
    for n in ["2", "3", "5"] {
        assert_eq!(steps(&["--parts", n, "--start-up"]), all("all"));
        // What start-up calls, too, is its own there.
        assert!((all("program") - 500..=all("all")).contains(&steps(&["--parts", n])));
        let all = "SELECT sum(bytes) FROM function_dataflow d JOIN function_symbol w ON w.function_id = writer_function_id
                   JOIN function_symbol r ON r.function_id = reader_function_id
                   WHERE writer_function_id <> reader_function_id AND w.kind <> 'pseudo' AND r.kind <> 'pseudo'";
        let all: u64 = rows(&db, all)[0].parse().unwrap();
        let text = ok(&["plan", utf8(&db), "--parts", n, "--show", "between", "--format", "csv"]);
        let crossing: u64 = fields(&text).iter().map(|row| row[3].parse::<u64>().unwrap()).sum();
        assert!(0 < crossing && crossing < all, "{crossing} of {all}: {text}");
    }
    let scratch = Scratch::new("plan-picture");
    let picture = scratch.path("parts.dot");
    ok(&["plan", utf8(&db), "--parts", "2", "-o", utf8(&picture)]);
    let dot = std::fs::read_to_string(picture).unwrap();
    assert!(dot.contains("part 1:") && dot.contains("part 2:"), "{dot}");
}

/// Groups in the matrix and in a comparison have the sums of their functions.
#[test]
fn groups_are_one_wherever_functions_are() {
    let db = example("jpeg", "pairs");
    let group = ["--group", "idct=glob:stbi__idct*,stbi__clamp", "--format", "csv"];
    let text = ok(&[&["matrix", utf8(&db), "--top", "100"][..], &group].concat());
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|name| *name == "idct").expect("a column");
    let own: u64 = lines.find(|row| row[0] == "idct").unwrap()[at].parse().unwrap();
    let sql = "SELECT sum(bytes) FROM function_dataflow WHERE writer IN ('stbi__idct_block', 'stbi__clamp') AND reader IN ('stbi__idct_block', 'stbi__clamp')";
    assert_eq!(rows(&db, sql), [own.to_string()]);
    let text = ok(&[&["diff", utf8(&db), utf8(&db), "--all", "--limit", "0"][..], &group].concat());
    let steps = "SELECT sum(steps_self) FROM flat_profile WHERE function IN ('stbi__idct_block', 'stbi__clamp')";
    let row =
        fields(&text).into_iter().find(|row| row[0] == "function" && row[1] == "idct").unwrap();
    assert_eq!(rows(&db, steps), [row[4].clone()]);
    assert!(!text.contains("stbi__clamp"), "{text}");
    refused(&["matrix", utf8(&db), "--group", "a=no_such"], &["no_such"]);
}

/// A repeated string instruction takes no step's time for each of its repetitions.
#[test]
fn a_repeated_instruction_costs_one_step() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("plan-repeated");
    let source = scratch.write(
        "repeated.c",
        "static char bytes[2000000];
         static unsigned numbers[50000];
         __attribute__((noinline)) static void wipe(char *at, long n) {
             __asm__ volatile(\"rep stosb\" : \"+D\"(at), \"+c\"(n) : \"a\"(3) : \"memory\");
         }
         __attribute__((noinline)) static unsigned mix(void) {
             unsigned sum = 0;
             for (int i = 0; i < 50000; i++) sum ^= numbers[i] = numbers[i] * 31 + bytes[36 * i] + i;
             return sum;
         }
         int main(void) {
             wipe(bytes, 1900000);
             return mix() == 0;
         }",
    );
    let program = scratch.path("repeated");
    make("gcc", &source, &["-O1", "-g", "-static"], &program);
    for detail in ["summary", "pairs"] {
        let db = scratch.path(&format!("{detail}.duckdb"));
        let output = record(&["-o", utf8(&db), "--detail", detail, "-q"], &[utf8(&program)]);
        assert!(output.status.success(), "{}", said(&output));
        let sql = |query: &str| fields(&ok(&["sql", utf8(&db), query, "3", "--format", "csv"]));
        let functions = sql("@hot_functions");
        // Steps are what they are.
        let wipe = rows(&db, "SELECT steps_self FROM flat_profile WHERE function = 'wipe'");
        assert!(wipe[0].parse::<u64>().unwrap() > 1_900_000, "{wipe:?}");
        assert_eq!(functions[0][0], "mix", "{functions:?}");
        assert!(functions[0][5].parse::<f64>().unwrap() > 50.0, "{functions:?}");
        let lines = sql("@hot_lines");
        assert_eq!(lines[0][1], "mix", "{lines:?}");
        let text = ok(&["plan", utf8(&db), "--format", "csv", "--least", "0"]);
        assert_eq!(moved(&text)[0], "mix", "{text}");
        assert!(!moved(&text).contains(&"wipe".to_owned()), "{text}");
        let shares = fields(&text).into_iter().filter(|row| row[1] == "wipe");
        assert!(shares.into_iter().all(|row| row[5].parse() == Ok(0.0)), "{text}");
    }
}
