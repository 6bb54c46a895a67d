//! What the end of a call instance does: its saves end, its flows are handed out.

use super::Output;
use super::contexts::Live;
use super::data::{Activation, Data};
use super::shadow::Registers;
use super::stack::{Ended, Ending, Interval, Ledger, Numbers};
use crate::id::{CallId, FunctionId};

/// Ends the call instances of a thread.
pub struct CallEnd<'a, O> {
    pub data: &'a mut Data<O>,
    pub registers: &'a mut Registers,
    /// The context of each live instance.
    pub contexts: &'a mut Vec<Live>,
}

impl<O: Output> Ledger<Activation> for CallEnd<'_, O> {
    #[inline]
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.data.numbers
    }

    #[inline]
    fn begin(&mut self, new: (CallId, FunctionId), parent: Option<(CallId, FunctionId)>) {
        let data = &mut *self.data;
        let is_stub = data.stubs.is_stub(new.1);
        let above = self.contexts.last().copied();
        let context = data.contexts.begin(above.map(|above| above.context), new.1, is_stub);
        data.stubs.begin(new, parent);
        let in_contexts = &mut data.sums.in_contexts;
        let actor = if data.options.gives_instances() {
            if data.by_context.is_asked() {
                let above = parent.filter(|_| is_stub).and_then(|p| data.by_context.actor(p.0));
                let actor = in_contexts.of((context, &mut data.contexts), new.1, above);
                data.by_context.add(new.0, actor);
            }
            new.1
        } else {
            let above = above.filter(|_| is_stub).map(|above| above.actor);
            in_contexts.of((context, &mut data.contexts), new.1, above)
        };
        self.contexts.push(Live { context, actor });
    }

    fn interval(&mut self, row: Interval) {
        let data = &mut *self.data;
        if data.options.gives_instances() {
            data.output.interval(row);
        }
    }

    fn end(&mut self, ended: Ended, activation: &mut Activation) {
        let data = &mut *self.data;
        let call = ended.row;
        data.ended.insert(call.call);
        if let Some(Live { context, .. }) = self.contexts.pop() {
            data.contexts.end(context, call.steps_self);
        }
        // The newest first: what is pending goes back to the one before it.
        while let Some(save) = activation.saves.pop() {
            let leaves = call.ending == Ending::Tail || data.switches.leaves;
            let stays = leaves || !data.saves.list[save as usize].store.framed;
            let behind = call.end.seq.map_or(0, |seq| seq.get() + 1);
            data.end_save(self.registers, save, stays.then_some((call.thread, behind)));
        }
        activation.save_mask = 0;
        data.sums.end(&ended);
        data.stubs.read((call.call, call.function), &activation.flows);
        data.by_context.read(call.call, &activation.flows);
        let bytes_in = data.hand_out.end(
            &mut activation.flows,
            (call.call, call.function),
            &mut data.sums,
            &mut data.memory,
            &mut data.output,
        );
        let bytes_in = bytes_in + std::mem::take(&mut activation.bytes_in);
        if data.options.gives_instances() {
            data.output.call(call, Some(bytes_in));
        }
        if let Some(folded) = data.stubs.end(&call, ended.caller)
            && data.options.gives_instances()
        {
            data.output.folded_call(folded);
        }
    }
}
