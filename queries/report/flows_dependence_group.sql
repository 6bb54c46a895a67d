-- Dependences between two functions by pair of instructions.
-- reads: dependence_edge, instruction, source_name
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- param limit BIGINT: rows at most
-- kind, count (pairs of instances), writer (address), writer_text, writer_line, reader (address), reader_text, reader_line
SELECT d.kind, d.count, printf('0x%x', w.address) AS writer, w.text AS writer_text,
       wf.name || ':' || w.line AS writer_line, printf('0x%x', r.address) AS reader, r.text AS reader_text,
       rf.name || ':' || r.line AS reader_line
FROM dependence_edge d JOIN instruction w ON w.instruction_id = d.write_instruction_id
JOIN instruction r ON r.instruction_id = d.read_instruction_id
LEFT JOIN source_name wf ON wf.file_id = w.file_id LEFT JOIN source_name rf ON rf.file_id = r.file_id
WHERE w.function_id = $1 AND r.function_id = $2
ORDER BY d.count DESC, r.address, w.address, d.kind
LIMIT $3;
