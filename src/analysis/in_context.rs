//! Functions as actors in their calling contexts.

use super::contexts::StepContexts;
use super::origin::{Origin, Packed};
use crate::id::{FunctionId, StackId};
use rustc_hash::FxHashMap;

/// What an actor in a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InContext {
    pub function: FunctionId,
    /// What a stub is merged into; of others the function itself.
    pub into: FunctionId,
    /// Of that; None: there were too many contexts.
    pub context: Option<StackId>,
}

/// Who wrote or read, stubs as what they are merged into, with the context.
pub type FlowEnd = (Origin<FunctionId>, Option<StackId>);

/// Actors in contexts. They are numbered behind all functions.
#[derive(Default)]
pub struct Actors {
    list: Vec<InContext>,
    index: FxHashMap<InContext, FunctionId>,
    /// By context: its own function in it.
    own: Vec<Option<FunctionId>>,
}

impl Actors {
    /// Number of the first one: functions are fewer.
    const FIRST: usize = 1 << 28;

    /// The one that an instance of `function` is, of which steps count for `context`; `above`: what the instance of
    /// a stub is merged into.
    #[inline]
    pub fn of(
        &mut self,
        (context, contexts): (StackId, &mut StepContexts),
        function: FunctionId,
        above: Option<FunctionId>,
    ) -> FunctionId {
        let is_own = above.is_none() && contexts.contexts().get(context).function == function;
        if is_own && let Some(&Some(known)) = self.own.get(context.index()) {
            return known;
        }
        let actor = self.add(match above {
            Some(above) => InContext { function, ..self.get(above) },
            None => {
                let context = contexts.straight(context, function);
                InContext { function, into: function, context }
            }
        });
        if is_own {
            if self.own.len() <= context.index() {
                self.own.resize(context.index() + 1, None);
            }
            self.own[context.index()] = Some(actor);
        }
        actor
    }

    fn add(&mut self, actor: InContext) -> FunctionId {
        let Actors { list, index, .. } = self;
        *index.entry(actor).or_insert_with(|| {
            list.push(actor);
            FunctionId::at(Actors::FIRST + list.len() - 1)
        })
    }

    /// What an actor is: a function by itself is in no context.
    #[inline]
    pub fn get(&self, actor: FunctionId) -> InContext {
        let number = actor.index().checked_sub(Actors::FIRST);
        let known = number.and_then(|number| self.list.get(number)).copied();
        known.unwrap_or(InContext { function: actor, into: actor, context: None })
    }

    /// A writer or reader.
    pub fn end(&self, end: Packed) -> FlowEnd {
        match end.origin::<FunctionId>() {
            Origin::Step(actor) => {
                let InContext { into, context, .. } = self.get(actor);
                (Origin::Step(into), context)
            }
            Origin::Source(source) => (Origin::Source(source), None),
        }
    }
}
