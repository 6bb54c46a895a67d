-- Blocks that a thread ran, in order: those that begin in a part of its steps.
-- reads: block_run
-- duckdb-only: reads the low level
-- param thread INTEGER: the thread
-- param from BIGINT: first seq of the part
-- param to BIGINT: seq behind it
-- block, start_seq
SELECT block_id AS block, start_seq FROM block_run
WHERE thread_id = $1::INTEGER AND start_seq >= $2::BIGINT AND start_seq < $3::BIGINT ORDER BY start_seq;
