-- Steps of all blocks, in order.
-- reads: block_step
-- duckdb-only: reads the low level
-- block_id, instruction_id
SELECT block_id, instruction_id FROM block_step ORDER BY block_id, step;
