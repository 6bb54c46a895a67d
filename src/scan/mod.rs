//! Table functions that read a packed run: `addfg_steps`, `addfg_accesses`, `addfg_communications`,
//! `addfg_calls_of`. `addfg sql` has them, and DuckDB where it has loaded `extension/`.

mod bounds;
mod connection;
mod function;
mod low;
mod middle;
mod rows;
mod stored;

pub use connection::{Beside, VIEWS, functions, read_by_chunks, with_short_names, within};
pub use function::register;
pub use rows::{Error, Shared, Sources};
