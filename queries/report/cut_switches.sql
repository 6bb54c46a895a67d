-- Which thread each run of a block is of, in the order in which they are stored, which is that of the run.
-- reads: block_run
-- duckdb-only: reads the low level
-- start_seq, thread_id
SELECT start_seq, thread_id FROM block_run;
