//! The thread that reads the inputs, and what it sends.

use super::BuildError;
use crate::diagnostics::Diagnostic;
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::store::StoreError;
use crate::trace::input::Input;
use crate::trace::{Claim, Context, Listener, Sink, StepFormat, TraceError};
use std::sync::mpsc;
use std::thread::JoinHandle;

pub enum Message {
    Begin(Carries, Option<Isa>),
    Steps(StepBatch),
    Runs(RunBatch),
    Diagnostic(Diagnostic),
    /// Bytes consumed.
    Progress(u64),
    Claim(Claim),
    /// The end of an input: the next one has dictionaries of its own.
    End,
}

/// What the thread sends: `Err` ends it.
type Sent = Result<Message, TraceError>;

struct Channel(mpsc::SyncSender<Sent>);

impl Channel {
    fn send(&self, message: Message) -> Result<(), TraceError> {
        self.0.send(Ok(message)).map_err(|_| TraceError::Stopped)
    }
}

impl Sink for Channel {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        self.send(Message::Begin(carries, isa))
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.send(Message::Steps(std::mem::take(batch)))
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        // The next one will be of about that size.
        let new = RunBatch {
            block: Vec::with_capacity(batch.block.len()),
            thread: Vec::with_capacity(batch.thread.len()),
            addresses: Vec::with_capacity(batch.addresses.len()),
            ..RunBatch::default()
        };
        self.send(Message::Runs(std::mem::replace(batch, new)))
    }
}

impl Listener for Channel {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        // If nobody listens any more the next batch says so.
        let _ = self.send(Message::Diagnostic(diagnostic));
    }
    fn progress(&mut self, bytes: u64) {
        let _ = self.send(Message::Progress(bytes));
    }
    fn claim(&mut self, claim: Claim) {
        let _ = self.send(Message::Claim(claim));
    }
}

/// What a format is told beside its input.
pub struct Reading {
    pub isa: Option<Isa>,
    pub layout: Option<String>,
    /// Threads that may work beside the reader's.
    pub jobs: usize,
}

/// The reader's thread, seen from the one that takes its messages.
pub struct Reader {
    receiver: Option<mpsc::Receiver<Sent>>,
    thread: Option<JoinHandle<()>>,
    /// Inputs whose end has not come.
    left: usize,
}

impl Reader {
    pub fn spawn(
        inputs: Vec<(Input, &'static dyn StepFormat)>,
        reading: Reading,
    ) -> Result<Reader, BuildError> {
        let (sender, receiver) = mpsc::sync_channel(4);
        let left = inputs.len();
        let work = move || {
            let mut channel = Channel(sender);
            for (input, format) in inputs {
                let Reading { isa, layout, jobs } = &reading;
                let context = Context { isa: *isa, layout: layout.as_deref(), jobs: *jobs };
                let read = format.read(input, &context, &mut channel);
                let end = read.map(|()| Message::End);
                let stop = end.is_err();
                if channel.0.send(end).is_err() || stop {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("reader".into()).spawn(work);
        let thread = thread.map_err(|source| StoreError::Thread { source })?;
        Ok(Reader { receiver: Some(receiver), thread: Some(thread), left })
    }

    /// The next message; None when every input was read to its end.
    ///
    /// # Errors
    /// What the reader ended with, also if it ended without saying so: what it has sent is then a
    /// part of the input that nobody knows the end of.
    pub fn next(&mut self) -> Result<Option<Message>, BuildError> {
        let Some(receiver) = self.receiver.as_ref().filter(|_| self.left > 0) else {
            return Ok(None);
        };
        match receiver.recv() {
            Ok(Ok(message)) => {
                self.left -= usize::from(matches!(message, Message::End));
                Ok(Some(message))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(mpsc::RecvError) => Err(BuildError::ReaderStopped),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // A reader that still runs ends at its next message.
        drop(self.receiver.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Format;

    /// Sends a batch and then panics.
    struct Broken;

    impl Format for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn about(&self) -> &'static str {
            ""
        }
        fn record(&self) -> &'static str {
            ""
        }
        fn carries(&self) -> Carries {
            Carries::default()
        }
        fn sniff(&self, _: &[u8]) -> bool {
            false
        }
        fn help(&self) -> &'static str {
            ""
        }
    }

    impl StepFormat for Broken {
        fn read(&self, _: Input, _: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
            sink.steps(&mut StepBatch::default())?;
            panic!("a defect");
        }
    }

    #[test]
    fn a_reader_that_panics_ends_the_build() {
        let input = Input::from_bytes("broken", b"x").unwrap();
        let reading = Reading { isa: None, layout: None, jobs: 1 };
        let mut reader = Reader::spawn(vec![(input, &Broken)], reading).unwrap();
        assert!(matches!(reader.next(), Ok(Some(Message::Steps(_)))));
        assert!(matches!(reader.next(), Err(BuildError::ReaderStopped)));
    }
}
