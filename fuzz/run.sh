#!/bin/sh
# Gives the targets of fuzz/ so many mutated inputs together, and prints the table of docs/reliability.md.
#   fuzz/run.sh INPUTS [SEED]
set -e
cd "$(dirname "$0")/.."
ADDFG_FUZZ=${1:-10000000} ADDFG_FUZZ_SEED=${2:-1} cargo test --release --test it fuzz::mutated_inputs -- --nocapture
