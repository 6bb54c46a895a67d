#!/bin/sh
# Gives the targets of fuzz/ so many mutated inputs together, and each job so many faults of each
# kind; prints the tables of docs/reliability.md.
#   fuzz/run.sh [INPUTS] [FAULTS] [SEED]
set -e
cd "$(dirname "$0")/.."
export ADDFG_FUZZ="${1:-10000000}" ADDFG_FAULTS="${2:-200}" ADDFG_FUZZ_SEED="${3:-1}"
cargo test --release --test it fuzz:: -- --nocapture --test-threads 1
