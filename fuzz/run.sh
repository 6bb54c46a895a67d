#!/bin/sh
# Gives the targets of fuzz/ so many mutated inputs together, and each job so many faults of each
# kind; prints the tables of docs/reliability.md. It goes on where it stopped, with the inputs of the same seed.
#   fuzz/run.sh [INPUTS] [FAULTS] [SEED]
# ADDFG_FUZZ_TARGET=NAME: one target; ADDFG_FUZZ_SECONDS=N: so long at most; ADDFG_FUZZ_STATE: where it is kept how far
# it is (remove it to begin again).
set -e
cd "$(dirname "$0")/.."
export ADDFG_FUZZ="${1:-10000000}" ADDFG_FAULTS="${2:-200}" ADDFG_FUZZ_SEED="${3:-1}"
export ADDFG_FUZZ_STATE="${ADDFG_FUZZ_STATE:-${CARGO_TARGET_DIR:-target}/tmp/fuzz/state}"
cargo test --release --test it fuzz:: -- --nocapture --test-threads 1
