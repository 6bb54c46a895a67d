-- The last run of a block that begins within a part of the run.
-- reads: block_run
-- duckdb-only: reads the low level
-- param from BIGINT: first seq of the part
-- param to BIGINT: last seq of the part
-- start_seq (NULL: the runs end before)
SELECT CASE WHEN max(start_seq) > $2::BIGINT THEN max(start_seq) FILTER (start_seq <= $2::BIGINT) END AS start_seq
FROM block_run WHERE start_seq > $1::BIGINT AND start_seq <= $2::BIGINT + (SELECT value::BIGINT FROM meta WHERE key = 'longest_block');
