//! A person's twenty questions to the report of the JPEG decoder, each answered by clicks (and words typed into
//! the search) alone; the database says what is right.

use crate::common::browser::Browser;
use crate::common::*;
use crate::report::show;
use std::path::{Path, PathBuf};

const PANEL: &str = "document.querySelector('#panel').textContent";

struct Asked {
    browser: Browser,
    db: PathBuf,
}

impl Asked {
    /// The first value of a query.
    fn truth(&self, sql: &str) -> String {
        rows(&self.db, sql).into_iter().next().unwrap_or_default()
    }

    fn tab(&mut self, name: &str) {
        self.browser.click(&format!("#tab-{name}"));
    }

    /// Clicks the first element that a selector finds with a text that is, or begins with, these words.
    fn click(&mut self, selector: &str, words: &str) {
        let words = serde_json::Value::from(words);
        self.browser.click_on(&format!(
            "[...document.querySelectorAll('{selector}')].find(e => e.textContent.trim().startsWith({words}))"
        ));
    }

    fn search(&mut self, words: &str) {
        self.browser.click("#search");
        self.browser.type_text(words);
        self.browser.key("Enter");
    }

    fn text(&mut self, selector: &str) -> String {
        self.browser.text(&format!("document.querySelector('{selector}').textContent"))
    }

    fn panel(&mut self, words: &str) {
        let said = self.browser.text(PANEL);
        assert!(said.contains(words), "{words}: {said}");
    }

    /// Chooses one of the tables, as a click into the list of them does.
    fn table(&mut self, name: &str) {
        self.tab("tables");
        self.browser.run(&format!(
            "(() => {{ const pick = document.querySelector('#table-pick'); pick.value = '{name}'; pick.dispatchEvent(new Event('change')); }})()"
        ));
    }

    /// The first row of a table after a click on one of its headings.
    fn first_by(&mut self, view: &str, heading: &str) -> String {
        self.click(&format!("#{view} th button"), heading);
        self.text(&format!("#{view} tbody tr td"))
    }
}

fn grouped(number: &str) -> String {
    let mut text = String::new();
    for (i, digit) in number.chars().enumerate() {
        if i > 0 && (number.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn started(scratch: &Scratch, db: &Path) -> Option<Asked> {
    let mut browser = Browser::start(scratch)?;
    show(&mut browser, scratch, db);
    Some(Asked { browser, db: db.to_owned() })
}

#[test]
fn twenty_questions_are_answered_by_clicks() {
    let scratch = Scratch::new("report-questions");
    let Some(mut page) = started(&scratch, &example("jpeg", "pairs")) else { return };
    of_functions(&mut page);
    of_data(&mut page);
    of_code(&mut page);
    of_memory_and_time(&mut page);
    of_the_run(&mut page);
    page.browser.no_problems();
}

fn of_functions(page: &mut Asked) {
    // 1. Which function has the most steps?
    page.tab("tables");
    let hottest = page.truth(
        "SELECT name FROM function_profile JOIN function_symbol USING (function_id) ORDER BY steps_self DESC LIMIT 1",
    );
    assert_eq!(page.first_by("table-body", "steps"), hottest);
    // 2. Which share of the run is it?
    page.click("#table-body .link", &hottest);
    page.panel("(17.8 %)");
    // 3. How often is get8 called, and 4. by whom most?
    page.search("stbi__get8");
    let calls = page.truth(
        "SELECT sum(calls)::BIGINT FROM call_edge JOIN function_symbol s ON s.function_id = callee_function_id WHERE name = 'stbi__get8'",
    );
    page.panel(&format!("calls{calls}"));
    let caller = page.truth(
        "SELECT c.name FROM call_edge e JOIN function_symbol c ON c.function_id = caller_function_id
         JOIN function_symbol f ON f.function_id = callee_function_id WHERE f.name = 'stbi__get8' ORDER BY calls DESC LIMIT 1",
    );
    page.panel(&format!("Called by{caller}"));
    // 5. What does the decoder of a block call, and 6. how does the run come to it?
    page.search("stbi__jpeg_decode_block");
    page.click("#panel .views .link", "Callers and callees");
    let drawn = page.text(".sandwich");
    assert!(drawn.contains("What stbi__jpeg_decode_block calls"), "{drawn}");
    assert!(drawn.contains("stbi__parse_entropy_coded_data"), "{drawn}");
    // 7. Which function writes most in vain?
    page.table("functions");
    let wasteful = page.truth(
        "SELECT name FROM function_profile JOIN function_symbol USING (function_id) ORDER BY dead_bytes DESC LIMIT 1",
    );
    assert_eq!(page.first_by("table-body", "in vain"), wasteful);
}

fn of_data(page: &mut Asked) {
    // 8. Whose data does the checksum read most?
    page.search("checksum");
    let writer = page.truth(
        "SELECT w.name FROM function_edge_folded e JOIN function_symbol w ON w.function_id = writer_function_id
         JOIN function_symbol r ON r.function_id = reader_function_id WHERE r.name = 'checksum' AND w.name <> 'checksum'
         GROUP BY w.name ORDER BY sum(bytes) DESC LIMIT 1",
    );
    page.panel(&format!("Reads data of{writer}"));
    // 9. Which two functions exchange most, and 10. through what?
    page.table("data");
    page.click("#table-body th button", "bytes");
    let largest = page.truth(
        "SELECT w.name || r.name || via FROM function_edge_folded e JOIN function_symbol w ON w.function_id = writer_function_id
         JOIN function_symbol r ON r.function_id = reader_function_id ORDER BY bytes DESC LIMIT 1",
    );
    let row = page.text("#table-body tbody tr");
    assert!(row.starts_with(&largest), "{row}: {largest}");
    // 11. How many bytes go from one to another?
    page.tab("matrix");
    page.browser.click_on("[...document.querySelectorAll('#matrix-body .cell')].find(c => c.getAttribute('aria-label').startsWith('stbi__get8 → stbi__get8\\n'))");
    let own = page.truth(
        "SELECT sum(bytes)::BIGINT FROM function_edge_folded e JOIN function_symbol s ON s.function_id = writer_function_id
         WHERE name = 'stbi__get8' AND writer_function_id = reader_function_id AND via = 'register'",
    );
    page.panel(&format!("registerbytes{}", grouped(&own)));
}

fn of_code(page: &mut Asked) {
    // 12. Which loop has the most iterations, and 13. may they run in any order?
    page.tab("loops");
    page.click("#loops-body th button", "iterations");
    let row = page.text("#loops-body tbody tr");
    let patterns = ["independent", "reduction", "pipeline", "serial"];
    assert!(patterns.iter().any(|pattern| row.contains(pattern)), "{row}");
    page.browser.click("#loops-body tbody tr td.number");
    page.panel("iterations");
    // 14. Which lines is it, and 15. which instructions are they?
    page.click("#panel .views .link", "Source");
    page.panel("Its instructions");
    assert_eq!(
        page.browser.number("document.querySelectorAll('#source-body tr.chosen').length"),
        1.0
    );
}

fn of_memory_and_time(page: &mut Asked) {
    // 16. Who reads what the program allocates, and 17. how much of it is written in vain?
    page.tab("objects");
    page.click("#objects-body tbody tr td", "arena_used");
    page.panel("Written by");
    page.panel("allocate");
    page.panel("written in vain");
    // 18. Where are the steps of a part of the run?
    page.tab("timeline");
    page.click("#timeline label", "Select a span");
    page.browser.drag("#timeline canvas", (60.0, 60.0), (200.0, 60.0));
    page.panel("Selected span");
    page.panel("Where its steps are");
}

fn of_the_run(page: &mut Asked) {
    // 19. What would be worth moving, and what crosses its border?
    page.table("plan");
    let set = page.text("#table-body tbody tr .link");
    page.click("#table-body .link", &set);
    page.panel(&set);
    page.table("cuts");
    let figures = page.text("#table-body");
    assert!(figures.contains("unique_bytes_in"), "{figures}");
    // 20. Which files is this of, and was anything wrong?
    page.table("inputs");
    let inputs = page.text("#table-body");
    assert!(inputs.contains("jpeg.log.xz"), "{inputs}");
    page.table("problems");
    assert!(page.text("#table-note").contains("rows"));
}
