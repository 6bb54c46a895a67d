-- Steps of blocks that are of a function of either set.
-- reads: block_step, instruction
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- duckdb-only: reads the low level
-- block_id, step, instruction_id, function_id, writes, reads (whether the function is one of the writers, of the readers)
SELECT block_id, step, instruction_id, function_id, writes, reads
FROM (SELECT s.block_id, s.step, s.instruction_id, i.function_id, i.function_id IN (SELECT function_id FROM writer_function) AS writes,
             i.function_id IN (SELECT function_id FROM reader_function) AS reads
      FROM block_step s JOIN instruction i USING (instruction_id)) step_of
WHERE writes OR reads;
