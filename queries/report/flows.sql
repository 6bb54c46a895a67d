-- Every communication from one function to another, instruction by instruction, summed over the run.
-- reads: instruction_edge, instruction, function_symbol, source_file
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- write_address, write_text, write_line, read_address, read_text, read_line, via, bytes, transfers
SELECT w.address AS write_address, w.text AS write_text,
       CASE WHEN w.line IS NOT NULL THEN regexp_extract(wf.path, '[^/]*$') || ':' || w.line END AS write_line,
       r.address AS read_address, r.text AS read_text,
       CASE WHEN r.line IS NOT NULL THEN regexp_extract(rf.path, '[^/]*$') || ':' || r.line END AS read_line,
       e.via, e.bytes, e.transfers
FROM instruction_edge e
JOIN instruction r ON r.instruction_id = e.reader_instruction_id
LEFT JOIN instruction w ON w.instruction_id = e.writer_instruction_id
LEFT JOIN source_file wf ON wf.file_id = w.file_id
LEFT JOIN source_file rf ON rf.file_id = r.file_id
WHERE e.writer_function_id = ? AND r.function_id = ?
ORDER BY e.bytes DESC, w.address, r.address, e.via;
