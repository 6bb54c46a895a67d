-- Who reads what a function writes; what it reads itself is left out.
-- theme: data
-- needs: summary
-- param writer function: name, file:name or @address; a pseudo-function such as <input>, too
-- param rows count = 20: rows at most, 0 for all
-- none: nobody else reads what the function writes, or the trace has no data
SELECT reader, via, bytes, unique_bytes, addresses, transfers, round(100.0 * bytes / sum(bytes) OVER (), 1) AS percent
FROM function_dataflow WHERE writer_function_id = $1 AND writer_function_id <> reader_function_id
ORDER BY bytes DESC NULLS LAST, transfers DESC, reader, via LIMIT $2;
