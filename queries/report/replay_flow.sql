-- Runs of blocks that may have steps in a part of the run, in order, without what they accessed.
-- reads: block_run
-- duckdb-only: reads the low level
-- param before BIGINT: the first seq of the part less the steps of the longest block
-- param last BIGINT: its last seq
-- start_seq, thread_id, block_id
SELECT start_seq, thread_id, block_id FROM block_run WHERE start_seq > $1::BIGINT AND start_seq <= $2::BIGINT;
