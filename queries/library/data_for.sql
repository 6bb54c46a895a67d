-- For whom a function works: what it reads and writes, by the function that called it.
-- theme: data
-- needs: summary
-- param function function: name, file:name or @address
-- param rows count = 20: rows at most, 0 for all
-- none: it exchanges no data with others, or data was not summed by calling context
WITH context AS (
    SELECT k.stack_id, coalesce(c.name, '<nobody>') AS caller
    FROM call_stack k LEFT JOIN call_stack p ON p.stack_id = k.parent_stack_id
    LEFT JOIN function_symbol c ON c.function_id = p.function_id WHERE k.function_id = $1),
ends AS (
    SELECT c.caller, e.bytes AS read_bytes, 0 AS written_bytes FROM stack_edge e JOIN context c ON c.stack_id = e.reader_stack_id
    WHERE e.writer_stack_id IS DISTINCT FROM e.reader_stack_id
    UNION ALL
    SELECT c.caller, 0, e.bytes FROM stack_edge e JOIN context c ON c.stack_id = e.writer_stack_id
    WHERE e.writer_stack_id IS DISTINCT FROM e.reader_stack_id)
SELECT caller, CAST(sum(read_bytes) AS BIGINT) AS read_bytes, CAST(sum(written_bytes) AS BIGINT) AS written_bytes,
       round(100.0 * sum(read_bytes + written_bytes) / sum(sum(read_bytes + written_bytes)) OVER (), 1) AS percent
FROM ends GROUP BY caller
ORDER BY sum(read_bytes + written_bytes) DESC, caller LIMIT $2;
