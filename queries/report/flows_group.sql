-- Dataflow from one function to another by pair of instructions, summed over the run.
-- reads: instruction_edge, instruction, source_name
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- param limit BIGINT: rows at most
-- write_address, write_instruction, write_line, read_address, read_instruction, read_line, via, bytes, transfers
SELECT printf('0x%x', w.address) AS write_address, w.text AS write_instruction,
       wf.name || ':' || w.line AS write_line,
       printf('0x%x', r.address) AS read_address, r.text AS read_instruction,
       rf.name || ':' || r.line AS read_line,
       e.via, e.bytes, e.transfers
FROM instruction_edge e
JOIN instruction r ON r.instruction_id = e.reader_instruction_id
LEFT JOIN instruction w ON w.instruction_id = e.writer_instruction_id
LEFT JOIN source_name wf ON wf.file_id = w.file_id
LEFT JOIN source_name rf ON rf.file_id = r.file_id
WHERE e.writer_function_id = $1 AND r.function_id = $2
ORDER BY e.bytes DESC, w.address, r.address, e.via
LIMIT $3;
