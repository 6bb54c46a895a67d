-- Runs of the blocks that have instructions of one function.
-- reads: block_run, block_step, instruction
-- duckdb-only: reads the low level
-- param function INTEGER: function id
-- param last BIGINT: no run begins after this seq
-- start_seq, block_id
SELECT start_seq, block_id FROM block_run
WHERE start_seq <= $2
  AND block_id IN (SELECT s.block_id FROM block_step s JOIN instruction i USING (instruction_id) WHERE i.function_id = $1);
