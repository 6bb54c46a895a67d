-- Dataflow between source lines, the most bytes first; code without lines by function.
-- reads: instruction, instruction_edge
-- writer_file_id, writer_line, writer_function_id (of what has no line), reader_file_id, reader_line, reader_function_id (likewise),
-- bytes (transfers where the trace has no sizes)
SELECT w.file_id AS writer_file_id, w.line AS writer_line,
       CASE WHEN w.line IS NULL OR w.file_id IS NULL THEN e.writer_function_id END AS writer_function_id,
       r.file_id AS reader_file_id, r.line AS reader_line,
       CASE WHEN r.line IS NULL OR r.file_id IS NULL THEN r.function_id END AS reader_function_id,
       CAST(sum(coalesce(e.bytes, e.transfers)) AS BIGINT) AS bytes
FROM instruction_edge e JOIN instruction r ON r.instruction_id = e.reader_instruction_id
LEFT JOIN instruction w ON w.instruction_id = e.writer_instruction_id
WHERE (w.line IS NOT NULL AND w.file_id IS NOT NULL) OR (r.line IS NOT NULL AND r.file_id IS NOT NULL)
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 7 DESC, 1, 2, 3, 4, 5, 6;
