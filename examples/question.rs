//! A database of a trace, and a question to it: `cargo run --release --example question -- TRACE ELF
//! OUT.duckdb` makes the database if it is not there, and says which functions execute most.

use addfg::{Database, Error, Trace, Value};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, elf, file] = &arguments[..] else {
        return Err(Error::new("question TRACE ELF OUT.duckdb"));
    };
    if !std::path::Path::new(file).exists() {
        let built = Trace::new(trace).elf(elf).build(file)?;
        println!("{} steps of format {}", built.steps, built.format);
    }
    let database = Database::open(file)?;
    let sql = "SELECT name, calls, steps_self FROM function_profile JOIN function_symbol USING (function_id)
               WHERE steps_self > 0 ORDER BY steps_self DESC, name LIMIT ?";
    for row in database.query(sql, &[Value::from(5)])?.rows {
        println!("{row:?}");
    }
    // The queries that have a name.
    let readers = database.named("hot_functions", &[])?;
    println!("{}: {} rows", readers.columns.join(", "), readers.rows.len());
    Ok(())
}
