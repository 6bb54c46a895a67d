//! From steps to runs: computes the memory accesses that the log does not hold.
