-- Control dependences that the trace recorded, between parts of the functions to expand and the other functions.
-- reads: dependence_edge, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- writer_part (decides; its first instruction; NULL: the function), writer_function_id, reader_part, reader_function_id, count
SELECT a.node AS writer_part, CASE WHEN a.node IS NULL THEN w.function_id END AS writer_function_id,
       b.node AS reader_part, CASE WHEN b.node IS NULL THEN r.function_id END AS reader_function_id,
       CAST(sum(d.count) AS BIGINT) AS count
FROM dependence_edge d JOIN instruction w ON w.instruction_id = d.write_instruction_id
JOIN instruction r ON r.instruction_id = d.read_instruction_id
LEFT JOIN part a ON a.instruction_id = w.instruction_id LEFT JOIN part b ON b.instruction_id = r.instruction_id
WHERE d.kind = 'control'
GROUP BY 1, 2, 3, 4;
