-- Functions by the bytes that they read of others (bytes_in) and that others read of them (bytes_out); local_bytes: of what they wrote themselves.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: the trace has no accesses, or no sizes
SELECT f.name AS function, CAST(sum(e.bytes) FILTER (e.reader_function_id = f.function_id AND e.writer_function_id <> f.function_id) AS BIGINT) AS bytes_in,
       CAST(sum(e.bytes) FILTER (e.writer_function_id = f.function_id AND e.reader_function_id <> f.function_id) AS BIGINT) AS bytes_out,
       CAST(sum(e.bytes) FILTER (e.writer_function_id = e.reader_function_id) AS BIGINT) AS local_bytes
FROM function_edge e JOIN function_symbol f ON f.function_id IN (e.writer_function_id, e.reader_function_id)
WHERE e.bytes IS NOT NULL GROUP BY f.function_id, f.name
ORDER BY coalesce(bytes_in, 0) + coalesce(bytes_out, 0) DESC, function, f.function_id LIMIT $1;
