-- A packed chunk of the run.
-- reads: run_chunk
-- duckdb-only: reads the low level
-- param first BIGINT: its first seq
-- data
SELECT data FROM run_chunk WHERE first_seq = $1::BIGINT;
