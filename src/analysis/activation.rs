//! What a live call instance has, beside its place on the call stack.

use super::flows::Flows;
use super::stack::Stack;
use super::transfer::End;

/// What a live call instance has.
#[derive(Default)]
pub struct Activation {
    pub flows: Flows,
    /// Bytes read that others wrote, of flows handed out early.
    pub bytes_in: u64,
    /// Live saves, oldest first.
    pub saves: Vec<u32>,
    /// Registers of those that are not exposed.
    pub save_mask: u64,
}

/// The call stack of a thread.
pub type Calls = Stack<End, Activation>;
