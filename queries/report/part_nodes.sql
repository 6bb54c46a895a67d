-- Instructions of the functions to expand with the part of the function that each belongs to.
-- reads: instruction, function_symbol, source_name
-- needs: TEMP TABLE part (instruction_id, node)
-- instruction_id, node, function_id, function, address, text, file (without folders), line, executions (steps)
SELECT i.instruction_id, p.node, i.function_id, s.name AS function, i.address, coalesce(i.text, '') AS text,
       f.name AS file, i.line, i.executions
FROM part p JOIN instruction i USING (instruction_id) JOIN function_symbol s ON s.function_id = i.function_id
LEFT JOIN source_name f ON f.file_id = i.file_id
ORDER BY p.node, i.address, i.instruction_id;
