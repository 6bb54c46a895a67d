-- Dependences between two sets of functions by pair of instructions.
-- reads: dependence_edge, instruction, source_name, function_symbol
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- param limit BIGINT: rows at most
-- writer_function, reader_function, kind, count (pairs of instances), writer (address), writer_text, writer_line, reader (address),
-- reader_text, reader_line
SELECT wn.name AS writer_function, rn.name AS reader_function,
       d.kind, d.count, printf('0x%x', w.address) AS writer, w.text AS writer_text,
       wf.name || ':' || w.line AS writer_line, printf('0x%x', r.address) AS reader, r.text AS reader_text,
       rf.name || ':' || r.line AS reader_line
FROM dependence_edge d JOIN instruction w ON w.instruction_id = d.write_instruction_id
JOIN instruction r ON r.instruction_id = d.read_instruction_id
JOIN function_symbol wn ON wn.function_id = w.function_id JOIN function_symbol rn ON rn.function_id = r.function_id
LEFT JOIN source_name wf ON wf.file_id = w.file_id LEFT JOIN source_name rf ON rf.file_id = r.file_id
WHERE w.function_id IN (SELECT function_id FROM writer_function) AND r.function_id IN (SELECT function_id FROM reader_function)
ORDER BY d.count DESC, r.address, w.address, d.kind, w.function_id, r.function_id
LIMIT $1;
