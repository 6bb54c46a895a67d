-- Chunks of a part of the run, in order.
-- reads: run_chunk
-- duckdb-only: reads the low level
-- param before BIGINT: the first seq of the part less the steps of the longest block
-- param last BIGINT: its last seq
-- first_seq
SELECT first_seq FROM run_chunk WHERE last_seq > $1::BIGINT AND first_seq <= $2::BIGINT ORDER BY first_seq;
