-- Who wrote what a function reads; what it wrote itself is left out.
-- theme: data
-- needs: summary
-- param reader function: name, file:name or @address
-- param rows count = 20: rows at most, 0 for all
-- none: the function reads nothing of others, or the trace has no data
SELECT writer, via, bytes, unique_bytes, addresses, transfers, round(100.0 * bytes / sum(bytes) OVER (), 1) AS percent
FROM function_dataflow WHERE reader_function_id = $1 AND writer_function_id <> reader_function_id
ORDER BY bytes DESC NULLS LAST, transfers DESC, writer, via LIMIT $2;
