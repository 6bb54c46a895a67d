//! Asks a recorder that sums for its sums while the program runs.

use super::line::Line;
use super::message::Answer;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// What the sums are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A database of them.
    Database,
    /// A person looks at the run.
    Look,
}

/// The word that asks: no answer is so long.
const ASK: [u8; 4] = [0xff; 4];

/// The recorder's end, and what it was asked for and has not sent yet.
#[derive(Default)]
pub struct Asked(Mutex<State>);

#[derive(Default)]
struct State {
    line: Option<Line>,
    waiting: VecDeque<Purpose>,
}

impl Asked {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recorder listens there.
    pub fn listens(&self, line: Line) {
        self.state().line = Some(line);
    }

    /// Asks for the sums. The recorder sends them when the program makes a system call, or after some time. Who
    /// looks is not asked for twice.
    pub fn ask(&self, purpose: Purpose) {
        let mut state = self.state();
        if purpose == Purpose::Look && state.waiting.contains(&purpose) {
            return;
        }
        // A recorder that is gone needs no sums.
        if state.line.as_mut().is_some_and(|line| line.write_all(&ASK).is_ok()) {
            state.waiting.push_back(purpose);
        }
    }

    /// Whether they were asked for it and have not come.
    pub fn is_waiting(&self, purpose: Purpose) -> bool {
        self.state().waiting.contains(&purpose)
    }

    /// What the sums that have come are for.
    pub fn next(&self) -> Option<Purpose> {
        self.state().waiting.pop_front()
    }

    /// Sends an answer, not in the middle of a question.
    pub fn answer(&self, answer: &mut Answer, to: &mut Line) -> io::Result<()> {
        let _state = self.state();
        answer.send(to)
    }
}
