//! A child of `fork` goes on where its parent stood: what it has in registers, in saves and in memory is what the parent's
//! functions wrote, and its calls have their callers.

use crate::common::{Scratch, addfg, ok, open, said, skipped, utf8};
use crate::packed::{in_chunks, same_answer, same_parts};
use crate::sums::{program, rows};
use crate::views::{Kept, kept, replayed};

#[test]
fn a_child_goes_on_where_its_parent_stood() {
    let scratch = Scratch::new("forks");
    let Some(program) = program(&scratch, "forks.c") else { return skipped("forks") };
    let db = scratch.path("run.duckdb");
    for words in [&["in a thread"][..], &[]] {
        let record = ["record", "-q", "--force", "--follow", "--detail", "full", "-o", utf8(&db)];
        let run = [&record[..], &["--", utf8(&program)], words].concat();
        let output = addfg(&run);
        assert!(output.status.success(), "{}", said(&output));

        // Callers.
        let callers = "SELECT DISTINCT t.process_id > 1, n.name, p.kind, m.name, g.kind
                       FROM function_call c JOIN function_symbol f USING (function_id) JOIN thread t USING (thread_id)
                       JOIN function_call p ON p.call_id = c.parent_call_id JOIN function_symbol n ON n.function_id = p.function_id
                       JOIN function_call g ON g.call_id = p.parent_call_id JOIN function_symbol m ON m.function_id = g.function_id
                       WHERE f.name = 'work' AND m.name <> 'served' ORDER BY ALL";
        let expected = ["false,serve,call,main,call", "true,serve,fork,main,fork"];
        assert_eq!(rows(&db, callers), expected, "{words:?}");
        let roots = "SELECT DISTINCT name FROM function_call JOIN function_symbol USING (function_id)
                     WHERE parent_call_id IS NULL AND name IN ('main', 'serve', 'served', 'deep', 'middle', 'work')";
        assert_eq!(rows(&db, roots), [""; 0], "{words:?}");

        // Registers, and what `fork` and others saved of them.
        let own = ["serve", "work", "deep", "middle", "produce", "main", "served", "start_thread"];
        let sql =
            "SELECT DISTINCT writer FROM function_dataflow WHERE via = 'register' AND reader IN
                   ('serve', 'work', 'deep') ORDER BY 1";
        let writers = rows(&db, sql);
        let others: Vec<_> = writers.iter().filter(|name| !own.contains(&&name[..])).collect();
        assert!(writers.len() > 3 && others.is_empty(), "{words:?}: {others:?}");

        // Both ways to find who wrote what.
        let connection = open(&db);
        let (again, first) = (replayed(&connection), kept(&connection));
        let only = |these: &[Kept], others: &[Kept]| -> Vec<Kept> {
            these
                .iter()
                .filter(|row| others.binary_search(row).is_err())
                .take(10)
                .copied()
                .collect()
        };
        let differ = (only(&again, &first), only(&first, &again));
        assert_eq!(differ, (Vec::new(), Vec::new()), "{words:?}");
        assert_eq!(again.len(), first.len(), "{words:?}");
    }

    // What a child's result is made of its parent has made; and what becomes of that.
    let of_first = rows(&db, "SELECT sum(steps) FROM thread WHERE process_id = 1");
    let of_first: i64 = of_first[0].parse().expect("steps");
    let seqs = |text: &str, function: &str| -> Vec<i64> {
        let lines = text.lines().filter(|line| line.split(',').nth(3) == Some(function));
        lines.map(|line| line.split(',').next().unwrap_or("").parse().expect("a step")).collect()
    };
    let slice = |more: &[&str]| {
        let output =
            addfg(&[&["slice", utf8(&db), "--limit", "0", "--format", "csv"], more].concat());
        assert!(output.status.success(), "{}", said(&output));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("<program .bss>"), "{more:?}: {text}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let back = slice(&["--at", "2:result"]);
    for function in ["produce", "fill"] {
        let steps = seqs(&back, function);
        assert!(steps.len() > 50 && steps.iter().all(|seq| *seq <= of_first), "{function}");
    }
    assert!(seqs(&back, "work").iter().all(|seq| *seq > of_first));
    let there = rows(
        &db,
        "SELECT DISTINCT line FROM instruction JOIN function_symbol USING (function_id)
                           WHERE name = 'produce' AND executions = 1000 ORDER BY 1",
    );
    let line = format!("forks.c:{}", there.last().expect("a line"));
    let on = slice(&["--forward", "--at", &line]);
    let steps = seqs(&on, "work");
    assert!(steps.iter().any(|seq| *seq > of_first) && steps.iter().any(|seq| *seq <= of_first));
}

/// Each chunk alone gives what the whole run gives.
#[test]
fn questions_about_forked_processes_are_answered_by_chunks() {
    let scratch = Scratch::new("forks-packed");
    let Some(program) = program(&scratch, "forks.c") else { return skipped("forks, packed") };
    let (stream, first) = (scratch.path("run.stream"), scratch.path("first.duckdb"));
    let record = ["record", "-q", "--follow", "--keep", utf8(&stream), "-o", utf8(&first), "--"];
    ok(&[&record[..], &[utf8(&program), "in a thread"]].concat());
    let (packed, rows_of) = in_chunks(&scratch, "run", &stream, 1000);
    assert!(same_parts(&packed, &rows_of) > 100);
    for name in ["serve", "deep", "middle", "work", "produce", "fill", "main", "served"] {
        for question in [
            &["instances", name, "--limit", "0"][..],
            &["cut", name],
            &["cut", name, "--callees"],
            &["flows", name, "work", "--sum"],
            &["loops", "--functions", name, "--limit", "0", "--dependences"],
        ] {
            same_answer(&packed, &rows_of, question);
        }
    }
}
