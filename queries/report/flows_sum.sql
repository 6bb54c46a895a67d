-- Dataflow from a set of functions to another by pair of instructions, summed over the run.
-- reads: instruction_edge, instruction, source_name, function_symbol
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- param limit BIGINT: rows at most
-- writer_function, reader_function, write_address, write_instruction, write_line, read_address, read_instruction, read_line, via, bytes,
-- transfers
SELECT wn.name AS writer_function, rn.name AS reader_function,
       printf('0x%x', w.address) AS write_address, w.text AS write_instruction,
       wf.name || ':' || w.line AS write_line,
       printf('0x%x', r.address) AS read_address, r.text AS read_instruction,
       rf.name || ':' || r.line AS read_line,
       e.via, e.bytes, e.transfers
FROM instruction_edge e
JOIN instruction r ON r.instruction_id = e.reader_instruction_id
JOIN function_symbol wn ON wn.function_id = e.writer_function_id
JOIN function_symbol rn ON rn.function_id = r.function_id
LEFT JOIN instruction w ON w.instruction_id = e.writer_instruction_id
LEFT JOIN source_name wf ON wf.file_id = w.file_id
LEFT JOIN source_name rf ON rf.file_id = r.file_id
WHERE e.writer_function_id IN (SELECT function_id FROM writer_function)
  AND r.function_id IN (SELECT function_id FROM reader_function)
ORDER BY e.bytes DESC, w.address, r.address, e.via, e.writer_function_id, r.function_id
LIMIT $1;
