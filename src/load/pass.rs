//! The pass as builds use it.

use super::code::Functions;
use super::rows::PassRows;
use crate::analysis::pass::Pass;
use crate::store::table::Batch;

/// Sends to the writer's thread. That it has ended is seen when it is joined.
pub type Send<'a> = Box<dyn FnMut(Batch) + 'a>;

/// The pass as builds use it.
pub type BuildPass<'a> = Pass<Functions, PassRows<Send<'a>>>;
