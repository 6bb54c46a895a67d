-- Which functions feed which: bytes that one wrote and another read.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: the trace has no data
SELECT writer, reader, via, bytes, unique_bytes, addresses, transfers
FROM function_dataflow WHERE writer_function_id <> reader_function_id
      AND ($2 = 'all' OR reader_function_id NOT IN (FROM start_up_function))
ORDER BY bytes DESC NULLS LAST, transfers DESC, writer, reader, via LIMIT $1;
