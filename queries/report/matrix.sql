-- Bytes (where the trace has no sizes: dependences) from function to function, stubs merged into their callers.
-- reads: function_edge_folded, function_symbol
-- writer, reader, bytes
SELECT w.name AS writer, r.name AS reader, CAST(coalesce(sum(e.bytes), sum(e.transfers)) AS BIGINT) AS bytes
FROM function_edge_folded e JOIN function_symbol w ON w.function_id = e.writer_function_id
JOIN function_symbol r ON r.function_id = e.reader_function_id
GROUP BY w.name, r.name ORDER BY 1, 2;
