-- Which functions feed which: bytes that one wrote and another read.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: the trace has no data
SELECT writer, reader, via, bytes, unique_bytes, addresses, transfers
FROM function_dataflow WHERE writer_function_id <> reader_function_id
ORDER BY bytes DESC NULLS LAST, transfers DESC, writer, reader, via LIMIT $1;
