-- Dependences between two sets of functions, of a trace that has them: instances of instructions take the place of steps.
-- reads: dependence, instruction, source_name, instruction_value, function_symbol
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- param limit BIGINT: rows at most
-- writer_function, reader_function, kind, writer (address), writer_line, write_instance, reader (address), reader_line, read_instance,
-- port, value (that the writer computed)
SELECT wn.name AS writer_function, rn.name AS reader_function,
       d.kind, printf('0x%x', w.address) AS writer, wf.name || ':' || w.line AS writer_line, d.write_instance,
       printf('0x%x', r.address) AS reader, rf.name || ':' || r.line AS reader_line, d.read_instance, d.port,
       CASE WHEN v.value IS NOT NULL THEN printf('0x%x', v.value) ELSE '0x' || v.wide_value END AS value
FROM dependence d JOIN instruction w ON w.instruction_id = d.write_instruction_id
JOIN instruction r ON r.instruction_id = d.read_instruction_id
JOIN function_symbol wn ON wn.function_id = w.function_id JOIN function_symbol rn ON rn.function_id = r.function_id
LEFT JOIN source_name wf ON wf.file_id = w.file_id LEFT JOIN source_name rf ON rf.file_id = r.file_id
LEFT JOIN instruction_value v ON v.instruction_id = d.write_instruction_id AND v.instance = d.write_instance
WHERE w.function_id IN (SELECT function_id FROM writer_function) AND r.function_id IN (SELECT function_id FROM reader_function)
ORDER BY r.address, d.read_instance, d.port, w.address, d.write_instance, d.kind, w.function_id, r.function_id
LIMIT $1;
