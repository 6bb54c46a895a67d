-- Control dependences that the trace recorded, between parts of the functions to expand and the other functions.
-- reads: dependence_edge, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- writer (decides), reader (nodes), count
SELECT CAST(coalesce(a.node, w.function_id) AS BIGINT) AS writer, CAST(coalesce(b.node, r.function_id) AS BIGINT) AS reader,
       CAST(sum(d.count) AS BIGINT) AS count
FROM dependence_edge d JOIN instruction w ON w.instruction_id = d.write_instruction_id
JOIN instruction r ON r.instruction_id = d.read_instruction_id
LEFT JOIN part a ON a.instruction_id = w.instruction_id LEFT JOIN part b ON b.instruction_id = r.instruction_id
WHERE d.kind = 'control'
GROUP BY 1, 2;
