-- Dataflow between instructions of a trace of dependences; of those whose kind is not known all count.
-- reads: dependence_edge, instruction
-- writer_instruction_id, reader_instruction_id, writer_function_id, via, bytes (NULL: not known), transfers (dependences)
SELECT d.write_instruction_id, d.read_instruction_id, w.function_id, NULL AS via, NULL AS bytes, sum(d.count)::BIGINT AS transfers
FROM dependence_edge d JOIN instruction w ON w.instruction_id = d.write_instruction_id
WHERE d.kind IS DISTINCT FROM 'control'
GROUP BY ALL
ORDER BY ALL;
