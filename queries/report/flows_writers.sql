-- Runs of the blocks that have instructions of a set of functions.
-- reads: block_run
-- needs: TEMP TABLE end_step (as flows_steps.sql gives)
-- duckdb-only: reads the low level
-- param last BIGINT: no run begins after this seq
-- start_seq, block_id
SELECT start_seq, block_id FROM block_run WHERE start_seq <= $1 AND block_id IN (SELECT block_id FROM end_step WHERE writes);
