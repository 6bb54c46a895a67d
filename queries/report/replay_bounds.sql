-- What part of the run is kept.
-- reads: block_run, block_step, run_chunk
-- duckdb-only: reads the low level
-- first, last (seq; NULL: no steps are kept), packed (in run_chunk)
WITH longest AS (SELECT coalesce(max(step) + 1, 1)::BIGINT AS steps FROM block_step),
-- No run that begins before the last one by more than a block's length ends behind it.
tail AS (SELECT block_id, start_seq FROM block_run WHERE start_seq >= (SELECT max(start_seq) FROM block_run) - (SELECT steps FROM longest))
SELECT coalesce((SELECT min(first_seq) FROM run_chunk), (SELECT min(start_seq) FROM block_run)) AS first,
       coalesce((SELECT max(last_seq) FROM run_chunk),
                (SELECT max(t.start_seq + s.step) FROM tail t JOIN block_step s USING (block_id))) AS last,
       EXISTS (SELECT 1 FROM run_chunk) AS packed;
