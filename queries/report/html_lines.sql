-- Executed source lines with their traffic.
-- reads: instruction, instruction_edge, source_file
-- file_id, path, line, function_id (the first), instructions, steps, read_bytes, written_bytes (that something read); transfers
-- where the trace has no sizes
WITH read AS (SELECT reader_instruction_id AS instruction_id, sum(coalesce(bytes, transfers)) AS bytes FROM instruction_edge GROUP BY ALL),
written AS (
    SELECT writer_instruction_id AS instruction_id, sum(coalesce(bytes, transfers)) AS bytes
    FROM instruction_edge WHERE writer_instruction_id IS NOT NULL GROUP BY ALL)
SELECT i.file_id, f.path, i.line, min(i.function_id) AS function_id, count(*) AS instructions,
       coalesce(sum(i.executions), 0)::BIGINT AS steps, coalesce(sum(r.bytes), 0)::BIGINT AS read_bytes,
       coalesce(sum(w.bytes), 0)::BIGINT AS written_bytes
FROM instruction i JOIN source_file f ON f.file_id = i.file_id
LEFT JOIN read r ON r.instruction_id = i.instruction_id LEFT JOIN written w ON w.instruction_id = i.instruction_id
WHERE i.line IS NOT NULL
GROUP BY ALL ORDER BY i.file_id, i.line;
