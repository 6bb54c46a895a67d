//! Threads take turns, and what each is in goes on while others run.

use crate::id::ThreadId;
use rustc_hash::FxHashMap;

/// What a thread is in from a step on.
pub trait OfThread: Copy {
    type Step: Copy + Ord;
    fn thread(&self) -> ThreadId;
    fn first(&self) -> Self::Step;
    fn from(self, step: Self::Step) -> Self;
}

/// Steps from which on the run goes on in another thread.
#[derive(Clone, Debug)]
pub struct Turns<S>(Vec<(S, ThreadId)>);

impl<S> Default for Turns<S> {
    fn default() -> Turns<S> {
        Turns(Vec::new())
    }
}

impl<S: Copy + Ord> Turns<S> {
    /// Steps of a thread come from here on.
    pub fn add(&mut self, start: S, thread: ThreadId) {
        if self.0.last().is_none_or(|last| last.1 != thread) {
            self.0.push((start, thread));
        }
    }

    /// For turns that were not added in their order.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|turn| turn.0);
    }

    /// Cuts intervals, which are in the order of their first steps, where it is another thread's turn.
    pub fn cut<T: OfThread<Step = S>>(&self, intervals: &[T]) -> Vec<T> {
        let mut of_thread: FxHashMap<ThreadId, Vec<T>> = FxHashMap::default();
        for interval in intervals {
            of_thread.entry(interval.thread()).or_default().push(*interval);
        }
        let mut cut = Vec::with_capacity(intervals.len() + self.0.len());
        for (i, &(start, thread)) in self.0.iter().enumerate() {
            let Some(own) = of_thread.get(&thread) else { continue };
            let next = self.0.get(i + 1).map(|next| next.0);
            let first = own.partition_point(|of| of.first() <= start).saturating_sub(1);
            let turn =
                own[first..].iter().take_while(|of| next.is_none_or(|next| of.first() < next));
            cut.extend(turn.map(|of| of.from(of.first().max(start))));
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First step, thread, name.
    impl OfThread for (i64, ThreadId, char) {
        type Step = i64;
        fn thread(&self) -> ThreadId {
            self.1
        }
        fn first(&self) -> i64 {
            self.0
        }
        fn from(self, step: i64) -> Self {
            (step, self.1, self.2)
        }
    }

    #[test]
    fn intervals_go_on_while_other_threads_run() {
        let [a, b] = [ThreadId::at(0), ThreadId::at(1)];
        let mut turns = Turns::default();
        // The second is no turn of its own, and nothing is known of the last one's thread.
        for (start, thread) in [(1, a), (2, a), (5, b), (9, a), (12, ThreadId::at(2))] {
            turns.add(start, thread);
        }
        let intervals = [(1, a, 'p'), (3, a, 'q'), (5, b, 'r'), (10, a, 's')];
        let expected = [(1, a, 'p'), (3, a, 'q'), (5, b, 'r'), (9, a, 'q'), (10, a, 's')];
        assert_eq!(turns.cut(&intervals), expected);
        // What begins before its thread's first turn begins with it.
        assert_eq!(turns.cut(&[(0, b, 't')]), [(5, b, 't')]);
    }
}
