-- Who accesses which bytes of memory, and how often.
-- reads: block_access, block_step, block_run, instruction
-- duckdb-only: the addresses of a block's run are a list
-- address (of the access), function_id, is_write, times, bytes (of all of them)
WITH code AS (
    SELECT a.block_id, a.memory_index, a.is_write, a.size, i.function_id
    FROM block_access a JOIN block_step s USING (block_id, step) JOIN instruction i USING (instruction_id) WHERE a.space = 'memory')
SELECT r.address[c.memory_index + 1] AS address, c.function_id, c.is_write, count(*) AS times, sum(c.size)::BIGINT AS bytes
FROM block_run r JOIN code c USING (block_id)
WHERE r.address[c.memory_index + 1] IS NOT NULL
GROUP BY ALL ORDER BY ALL;
