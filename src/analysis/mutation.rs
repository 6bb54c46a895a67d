//! Rules of `docs/semantics.md` that the pass can leave out.

/// A rule to leave out, so that a test can see that the SQL finds it out.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A call to the next instruction is none.
    CallToNext,
    Tails,
    /// A return ends the frames above the one that it goes to.
    Unwinding,
    /// A return goes to the frame of its slot, not only of its address.
    Slots,
    Signals,
    SignalEnds,
    StubKinds,
    /// An interval begins where control comes back.
    Intervals,
    /// What a return loads is no data.
    ReturnLoads,
    /// A write of some bytes of a word leaves the others.
    PartialWrites,
    Saves,
    /// A store of what the instance wrote itself is no save.
    OwnStores,
    Restores,
    /// A restore gives back the writers from before the save.
    OldWriters,
    Exposure,
    /// Registers handed on inside a block.
    Inside,
    /// A block is cut where a restore may feed what comes behind it.
    Cuts,
    /// Unique bytes count once per reading instance.
    Unique,
    /// Two parts of a write that one access reads are one transfer.
    Transfers,
    Addresses,
}

impl Mutation {
    pub const ALL: [Mutation; 20] = [
        Mutation::CallToNext,
        Mutation::Tails,
        Mutation::Unwinding,
        Mutation::Slots,
        Mutation::Signals,
        Mutation::SignalEnds,
        Mutation::StubKinds,
        Mutation::Intervals,
        Mutation::ReturnLoads,
        Mutation::PartialWrites,
        Mutation::Saves,
        Mutation::OwnStores,
        Mutation::Restores,
        Mutation::OldWriters,
        Mutation::Exposure,
        Mutation::Inside,
        Mutation::Cuts,
        Mutation::Unique,
        Mutation::Transfers,
        Mutation::Addresses,
    ];
}
