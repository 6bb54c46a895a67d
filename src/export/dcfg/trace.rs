//! `run.trace.json`: which edges the threads went along.

use super::super::error::ExportError;
use super::codes::{Bits, Codes, LONGEST_STRETCH};
use super::graph::{Edge, FlowGraph, index};
use super::output::Output;
use super::walk::Event;
use std::io::Write;

/// Edges of a chunk of the trace: its sequence is kept until it is complete.
const CHUNK: u64 = 1 << 20;

pub fn write(
    out: &mut impl Write,
    to: &Output,
    graph: &FlowGraph,
    walk: impl Fn(usize, &mut dyn FnMut(Event)) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let (codes, pid) = (&Codes::new(graph), to.pid);
    writeln!(out, "{{\"MAJOR_VERSION\": 1, \"MINOR_VERSION\": 0, \"PROCESSES\": [")?;
    write!(
        out,
        "[\"PROCESS_ID\", \"STRING_DICTIONARY\", \"TRANSITION_TABLE\", \"THREAD_DATA\"],\n[{pid}, {{}},\n"
    )?;
    write!(out, "[[\"CURRENT_EDGE_ID\", \"TRANSITION_CODE\", \"NEXT_EDGE_IDS\"]")?;
    for (edge, rows) in &codes.rows {
        for (code, next) in rows {
            let next: Vec<String> = next.iter().map(|e| (e + 1).to_string()).collect();
            write!(out, ",\n[{}, \"{code}\", [{}]]", edge + 1, next.join(", "))?;
        }
    }
    write!(out, "],\n[[\"THREAD_ID\", \"TRACE_DATA\"]")?;
    for thread in 0..to.threads {
        write!(
            out,
            ",\n[{thread}, [[\"PRECEDING_INSTR_COUNT\", \"INSTR_COUNT\", \"EDGE_COUNT\", "
        )?;
        write!(out, "\"FIRST_EDGE_ID\", \"EDGE_ID_SEQUENCE\"]")?;
        let mut chunk = Chunk::default();
        let mut failed = None;
        let mut take = |event: Event| {
            let done = match event {
                Event::Begin { thread: t, preceding } if t == thread => chunk.begin(out, preceding),
                Event::Edge { thread: t, edge } if t == thread => {
                    chunk.edge(out, graph, codes, edge)
                }
                _ => Ok(()),
            };
            if let Err(e) = done {
                failed.get_or_insert(e);
            }
        };
        walk(thread, &mut take)?;
        if let Some(e) = failed {
            return Err(e.into());
        }
        chunk.finish(out)?;
        write!(out, "]]")?;
    }
    Ok(writeln!(out, "]]]}}")?)
}

/// A row of the trace data that is being made.
#[derive(Default)]
struct Chunk {
    preceding: u64,
    instructions: u64,
    edges: u64,
    first: u32,
    last: u32,
    /// Edges to come that the code before has said already: how many of the stretch are left.
    stretch: usize,
    bits: Bits,
}

impl Chunk {
    /// What is known of the thread goes on behind `preceding` instructions.
    fn begin(&mut self, out: &mut impl Write, preceding: u64) -> std::io::Result<()> {
        self.finish(out)?;
        self.preceding = preceding;
        Ok(())
    }

    fn edge(
        &mut self,
        out: &mut impl Write,
        graph: &FlowGraph,
        codes: &Codes,
        edge: Edge,
    ) -> std::io::Result<()> {
        let Some(&id) = graph.edge_ids.get(&edge) else { return Ok(()) };
        if self.edges == CHUNK {
            let preceding = self.preceding + self.instructions;
            self.begin(out, preceding)?;
        }
        if self.edges == 0 {
            self.first = id;
            self.stretch = 0;
        } else if self.stretch > 0 {
            self.stretch -= 1;
        } else {
            if let Some(&code) = codes.code.get(&(self.last, id)) {
                self.bits.push(code);
            }
            let mut at = id;
            while let Some(behind) = codes.only[index(at)]
                && self.stretch + 1 < LONGEST_STRETCH
            {
                self.stretch += 1;
                at = behind;
            }
        }
        self.edges += 1;
        self.instructions += graph.length(edge.0);
        self.last = id;
        Ok(())
    }

    fn finish(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if self.edges > 0 {
            write!(
                out,
                ",\n[{}, {}, {}, {}, \"",
                self.preceding,
                self.instructions,
                self.edges,
                self.first + 1
            )?;
            out.write_all(&self.bits.finish())?;
            write!(out, "\"]")?;
        }
        *self = Chunk::default();
        Ok(())
    }
}
