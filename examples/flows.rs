//! Who gives bytes to whom, without a database: `cargo run --release --example flows -- TRACE ELF`.

use addfg::{Error, Trace};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let (Some(trace), Some(elf)) = (arguments.next(), arguments.next()) else {
        return Err(Error::new("flows TRACE ELF"));
    };
    let found = Trace::new(trace).elf(elf).flows()?;
    for problem in &found.problems {
        eprintln!("{}: {} ({} times)", problem.position, problem.message, problem.count);
    }
    let mut flows = found.flows.clone();
    // Own data is no flow.
    flows.retain(|flow| flow.writer != flow.reader);
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    println!("{} steps, {} functions", found.steps, found.functions.len());
    for flow in flows.iter().take(20) {
        let [from, to] = [flow.writer, flow.reader].map(|at| &found.functions[at].name);
        println!("{:>12} bytes  {from} -> {to}  through {:?}", flow.bytes, flow.via);
    }
    Ok(())
}
