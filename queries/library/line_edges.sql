-- Which source lines feed which: bytes that the instructions of one wrote and those of another read.
-- theme: data
-- needs: instance
-- param rows count = 20: rows at most, 0 for all
-- none: the program has no source lines (compile it with -g), or the trace has no accesses
SELECT w.name || ':' || wi.line AS writer, wf.name AS writer_function, r.name || ':' || ri.line AS reader, rf.name AS reader_function,
       e.via, CAST(sum(e.bytes) AS BIGINT) AS bytes, CAST(sum(e.transfers) AS BIGINT) AS transfers
FROM instruction_edge e JOIN instruction wi ON wi.instruction_id = e.writer_instruction_id
JOIN instruction ri ON ri.instruction_id = e.reader_instruction_id
JOIN source_name w ON w.file_id = wi.file_id JOIN source_name r ON r.file_id = ri.file_id
JOIN function_symbol wf ON wf.function_id = wi.function_id JOIN function_symbol rf ON rf.function_id = ri.function_id
WHERE (wi.file_id, wi.line) <> (ri.file_id, ri.line)
GROUP BY ALL ORDER BY bytes DESC, writer, writer_function, reader, reader_function, e.via LIMIT $1;
