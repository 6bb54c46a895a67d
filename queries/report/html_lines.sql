-- Executed source lines with their traffic.
-- reads: instruction, instruction_edge, source_file
-- file_id, path, line, function_id (the first), instructions, steps, read_bytes, written_bytes (that something read); transfers
-- where the trace has no sizes
WITH read AS (SELECT reader_instruction_id AS instruction_id, sum(coalesce(bytes, transfers)) AS bytes FROM instruction_edge
         GROUP BY reader_instruction_id),
written AS (
    SELECT writer_instruction_id AS instruction_id, sum(coalesce(bytes, transfers)) AS bytes
    FROM instruction_edge WHERE writer_instruction_id IS NOT NULL GROUP BY writer_instruction_id)
SELECT i.file_id, f.path, i.line, min(i.function_id) AS function_id, count(*) AS instructions,
       CAST(coalesce(sum(i.executions), 0) AS BIGINT) AS steps, CAST(coalesce(sum(r.bytes), 0) AS BIGINT) AS read_bytes,
       CAST(coalesce(sum(w.bytes), 0) AS BIGINT) AS written_bytes
FROM instruction i JOIN source_file f ON f.file_id = i.file_id
LEFT JOIN read r ON r.instruction_id = i.instruction_id LEFT JOIN written w ON w.instruction_id = i.instruction_id
WHERE i.line IS NOT NULL
GROUP BY i.file_id, f.path, i.line ORDER BY i.file_id, i.line;
