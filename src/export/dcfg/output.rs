//! Where the files of an export go, and of which process they are.

use duckdb::Connection;
use std::path::Path;

pub struct Output<'a> {
    pub folder: &'a Path,
    pub connection: &'a Connection,
    pub threads: usize,
    pub pid: i64,
}
