//! Calling contexts: the chains of functions that are live at a time, as a tree (Ammons, Ball and
//! Larus, Exploiting Hardware Performance Counters with Flow and Context Sensitive Profiling, PLDI
//! 1997, with recursion left unrolled).

use crate::id::{FunctionId, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions of a context at most: what is called from deeper ones counts as theirs. A recursion
/// would give as many contexts as it is deep, and text in the square of that.
pub const DEPTH: u32 = 1000;

/// Contexts of a trace with steps at most: what would have a further one counts as its caller's.
const MOST: usize = 1 << 18;

/// Callees that a context finds without a search, at most.
const LAST: usize = 4;

/// A chain of functions from a root, with figures of its calls.
#[derive(Clone, Copy, Debug)]
pub struct Context<F> {
    /// The chain without its last function.
    pub parent: Option<StackId>,
    pub function: FunctionId,
    /// Functions before the last.
    pub depth: u32,
    pub figures: F,
    /// Where control went from here last, by the last bits of the function: mostly it goes there again.
    last: [Option<StackId>; LAST],
}

/// Contexts by id; each comes behind that of its caller.
#[derive(Debug)]
pub struct Contexts<F> {
    list: Vec<Context<F>>,
    children: FxHashMap<(Option<StackId>, FunctionId), StackId>,
}

impl<F> Default for Contexts<F> {
    fn default() -> Self {
        Contexts { list: Vec::new(), children: FxHashMap::default() }
    }
}

impl<F> Contexts<F> {
    pub fn get(&self, id: StackId) -> &Context<F> {
        &self.list[id.index()]
    }

    pub fn get_mut(&mut self, id: StackId) -> &mut Context<F> {
        &mut self.list[id.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (StackId, &Context<F>)> {
        self.list.iter().enumerate().map(|(i, context)| (StackId::at(i), context))
    }

    /// A context that was entered lately from another one, if it is of this function.
    #[inline]
    fn again(&self, parent: StackId, function: FunctionId) -> Option<StackId> {
        let last = self.get(parent).last[function.index() % LAST];
        last.filter(|&last| self.get(last).function == function)
    }

    /// The context of a function called from another one; `new` are the figures of one that was not
    /// there yet.
    pub fn enter(
        &mut self,
        parent: Option<StackId>,
        function: FunctionId,
        new: impl FnOnce() -> F,
    ) -> StackId {
        if let Some(last) = parent.and_then(|p| self.again(p, function)) {
            return last;
        }
        let depth = parent.map_or(0, |p| self.get(p).depth + 1);
        let list = &mut self.list;
        debug_assert!(parent.is_none_or(|p| p.index() < list.len()), "callers come first");
        let id = *self.children.entry((parent, function)).or_insert_with(|| {
            list.push(Context { parent, function, depth, figures: new(), last: [None; LAST] });
            StackId::at(list.len() - 1)
        });
        if let Some(parent) = parent {
            self.get_mut(parent).last[function.index() % LAST] = Some(id);
        }
        id
    }
}

/// What calls of a context cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackSteps {
    pub calls: u64,
    /// Without what they call; with what stubs that they call do.
    pub steps_self: u64,
}

/// A live instance.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// That its steps count for.
    pub context: StackId,
    /// As whom it reads and writes where actors are functions.
    pub actor: FunctionId,
}

/// The contexts of a trace with steps. Stubs are merged into their callers, and threads into one
/// another.
#[derive(Debug, Default)]
pub struct StepContexts {
    contexts: Contexts<StackSteps>,
    /// By context: the first one of the same [`StepContexts::straight_chain`].
    straight: Vec<StackId>,
    /// By chain.
    first: FxHashMap<Box<[FunctionId]>, StackId>,
    /// The same of instances that count for their callers' contexts.
    beyond: FxHashMap<(StackId, FunctionId), Option<StackId>>,
    /// Calls that count as their callers' because there are too many contexts.
    left_out: u64,
}

impl StepContexts {
    /// An instance begins, called from a context.
    #[inline]
    pub fn begin(
        &mut self,
        parent: Option<StackId>,
        function: FunctionId,
        is_stub: bool,
    ) -> StackId {
        // Never a stub, nor too deep: those are never entered from another one.
        let id = match parent.and_then(|p| self.contexts.again(p, function)) {
            Some(again) => again,
            None => match parent.filter(|_| is_stub) {
                Some(parent) => return parent,
                None => self.enter(parent, function),
            },
        };
        self.contexts.get_mut(id).figures.calls += 1;
        id
    }

    #[inline(never)]
    fn enter(&mut self, parent: Option<StackId>, function: FunctionId) -> StackId {
        let full = self.contexts.list.len() >= MOST;
        match parent {
            Some(parent) if self.contexts.get(parent).depth + 1 >= DEPTH => parent,
            Some(parent) if full => {
                let known = self.contexts.children.get(&(Some(parent), function)).copied();
                self.left_out += u64::from(known.is_none());
                known.unwrap_or(parent)
            }
            _ => {
                let id = self.contexts.enter(parent, function, StackSteps::default);
                if id.index() == self.straight.len() {
                    let chain = self.straight_chain(parent, function);
                    self.straight.push(*self.first.entry(chain).or_insert(id));
                }
                id
            }
        }
    }

    /// The functions of a chain that ends with this one, each once, where it was called last: the innermost
    /// first. Whatever is looked for among them, the first that is found is the nearest caller.
    fn straight_chain(&self, from: Option<StackId>, function: FunctionId) -> Box<[FunctionId]> {
        let above = std::iter::successors(from, |&id| self.contexts.get(id).parent);
        let mut seen = FxHashSet::from_iter([function]);
        let callers = above.map(|id| self.contexts.get(id).function).filter(|&f| seen.insert(f));
        std::iter::once(function).chain(callers).collect()
    }

    /// The context that data of an instance counts for: the first one of the same functions, each where it was
    /// called last, so that a recursion has not as many as it is deep. `context` is that of the instance; None
    /// where that is its caller's, as contexts are too many or too deep, and none has the same functions.
    #[inline]
    pub fn straight(&mut self, context: StackId, function: FunctionId) -> Option<StackId> {
        if self.contexts.get(context).function == function {
            return self.straight.get(context.index()).copied();
        }
        if let Some(&known) = self.beyond.get(&(context, function)) {
            return known;
        }
        if self.beyond.len() >= MOST {
            self.beyond.clear();
        }
        let chain = self.straight_chain(Some(context), function);
        let found = self.first.get(&chain).copied();
        self.beyond.insert((context, function), found);
        found
    }

    /// An instance of a context has ended.
    #[inline]
    pub fn end(&mut self, context: StackId, steps_self: u64) {
        self.contexts.get_mut(context).figures.steps_self += steps_self;
    }

    /// Those of these rows: callers come before what they call.
    pub fn of(rows: impl Iterator<Item = (Option<StackId>, FunctionId, StackSteps)>) -> Self {
        let mut contexts = Contexts::default();
        for (parent, function, figures) in rows {
            let above = parent.and_then(|p| contexts.list.get(p.index()));
            let depth = above.map_or(0, |above: &Context<StackSteps>| above.depth + 1);
            let parent = parent.filter(|_| above.is_some());
            contexts.list.push(Context { parent, function, depth, figures, last: [None; LAST] });
        }
        StepContexts { contexts, ..StepContexts::default() }
    }

    /// So many calls count as their callers'.
    pub fn without(self, left_out: u64) -> Self {
        StepContexts { left_out, ..self }
    }

    pub fn contexts(&self) -> &Contexts<StackSteps> {
        &self.contexts
    }

    /// Calls that count as their callers' because there are more contexts than are kept.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(n: u32) -> FunctionId {
        FunctionId::new(n).expect("not 0")
    }

    #[test]
    fn chains_are_told_apart_and_stubs_are_their_callers() {
        let mut found = StepContexts::default();
        let main = found.begin(None, function(1), false);
        for _ in 0..2 {
            let f = found.begin(Some(main), function(2), false);
            assert_eq!(found.begin(Some(f), function(9), true), f);
            found.end(f, 3);
            let g = found.begin(Some(f), function(3), false);
            found.end(g, 5);
            found.end(f, 7);
            let g = found.begin(Some(main), function(3), false);
            found.end(g, 11);
        }
        let rows: Vec<_> = found
            .contexts()
            .iter()
            .map(|(_, c)| (c.parent.map(StackId::index), c.depth, c.figures))
            .collect();
        let figures = |calls, steps_self| StackSteps { calls, steps_self };
        assert_eq!(
            rows,
            [
                (None, 0, figures(1, 0)),
                (Some(0), 1, figures(2, 20)),
                (Some(1), 2, figures(2, 10)),
                (Some(0), 1, figures(2, 22)),
            ]
        );
    }

    #[test]
    fn deep_and_many_contexts_are_their_callers() {
        let mut found = StepContexts::default();
        let mut at = None;
        for _ in 0..2 * DEPTH {
            at = Some(found.begin(at, function(1), false));
        }
        let last = found.contexts().get(at.unwrap());
        assert_eq!((last.depth, last.figures.calls), (DEPTH - 1, u64::from(DEPTH) + 1));
        assert_eq!(found.left_out(), 0);
        let root = found.begin(None, function(2), false);
        for n in 0..MOST as u32 {
            found.begin(Some(root), function(3 + n), false);
        }
        assert_eq!(found.contexts().iter().count(), MOST);
        assert_eq!(found.left_out(), u64::from(DEPTH) + 1);
        assert_eq!(found.contexts().get(root).figures.calls, u64::from(DEPTH) + 2);
    }

    /// Rows make the contexts that they are of, whatever chain they belong to.
    #[test]
    fn rows_are_contexts_again() {
        let figures = |calls, steps_self| StackSteps { calls, steps_self };
        let rows = [
            (None, function(1), figures(1, 10)),
            (Some(StackId::at(0)), function(2), figures(2, 20)),
            (Some(StackId::at(1)), function(3), figures(3, 30)),
            (Some(StackId::at(9)), function(4), figures(4, 40)),
        ];
        let found = StepContexts::of(rows.into_iter());
        let known =
            found.contexts().iter().map(|(_, c)| (c.parent, c.function, c.depth, c.figures));
        let parents = [None, Some(StackId::at(0)), Some(StackId::at(1)), None];
        let expected = (0..).zip(rows).zip(parents).map(|((depth, row), parent)| {
            (parent, row.1, if parent.is_some() { depth } else { 0 }, row.2)
        });
        assert_eq!(known.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(found.left_out(), 0);
    }
}
