//! Types of edges, as SDE numbers them.

use crate::text::words;
use crate::trace::dcfg::EdgeKind;

words! {
    /// In the order of their numbers.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum EdgeType {
        Entry = "ENTRY",
        Exit = "EXIT",
        Call = "CALL",
        DirectCall = "DIRECT_CALL",
        IndirectCall = "INDIRECT_CALL",
        Return = "RETURN",
        CallBypass = "CALL_BYPASS",
        Branch = "BRANCH",
        ConditionalBranch = "CONDITIONAL_BRANCH",
        UnconditionalBranch = "UNCONDITIONAL_BRANCH",
        DirectBranch = "DIRECT_BRANCH",
        IndirectBranch = "INDIRECT_BRANCH",
        DirectConditionalBranch = "DIRECT_CONDITIONAL_BRANCH",
        IndirectConditionalBranch = "INDIRECT_CONDITIONAL_BRANCH",
        DirectUnconditionalBranch = "DIRECT_UNCONDITIONAL_BRANCH",
        IndirectUnconditionalBranch = "INDIRECT_UNCONDITIONAL_BRANCH",
        Rep = "REP",
        FallThrough = "FALL_THROUGH",
        SystemCall = "SYSTEM_CALL",
        SystemReturn = "SYSTEM_RETURN",
        SystemCallBypass = "SYSTEM_CALL_BYPASS",
        ContextChange = "CONTEXT_CHANGE",
        ContextChangeReturn = "CONTEXT_CHANGE_RETURN",
        ContextChangeBypass = "CONTEXT_CHANGE_BYPASS",
        ExcludedCodeBypass = "EXCLUDED_CODE_BYPASS",
        Unknown = "UNKNOWN",
    }
}

impl EdgeType {
    /// Its number in the file, from 1.
    pub fn number(self) -> usize {
        1 + EdgeType::ALL.iter().position(|&t| t == self).unwrap_or(0)
    }

    /// An edge of this type stays in its routine.
    pub fn is_inside(self) -> bool {
        EdgeKind::of(self.name()).is_inside()
    }

    /// From a call, a trap or the like over what it led to.
    pub fn is_bypass(self) -> bool {
        self.name().ends_with("BYPASS")
    }

    /// Back to where a call or trap came from.
    pub fn comes_back(self) -> bool {
        self.name().ends_with("RETURN")
    }

    /// Control will come back behind it.
    pub fn is_call(self) -> bool {
        self.name().ends_with("CALL") || self == EdgeType::ContextChange
    }
}
