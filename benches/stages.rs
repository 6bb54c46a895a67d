//! Each stage by itself: `cargo bench`, or `cargo bench -- readers` for one of readers, pass,
//! writers and views.
//!
//! Inputs are recordings that are shipped, repeated until they are large enough to be timed;
//! `end_to_end.sh` measures whole builds of recordings that it makes.

mod inputs;
mod pass;
mod readers;
mod views;
mod writers;

fn main() {
    divan::main();
}
