-- The most data that went from one call to another.
-- theme: calls
-- needs: instance
-- param rows count = 20: rows at most, 0 for all
-- none: the trace has no data
WITH largest AS (
    SELECT * FROM dataflow WHERE writer_call_id IS DISTINCT FROM reader_call_id
    ORDER BY bytes DESC, reader_call_id, writer_call_id, via LIMIT $1)
SELECT wf.name || coalesce('#' || w.instance, '') AS writer, rf.name || '#' || r.instance AS reader, d.via, d.bytes, d.unique_bytes, d.transfers,
       w.return_seq AS writer_last_step, r.call_seq AS reader_first_step
FROM largest d JOIN function_symbol wf ON wf.function_id = d.writer_function_id
JOIN function_symbol rf ON rf.function_id = d.reader_function_id JOIN function_call r ON r.call_id = d.reader_call_id
LEFT JOIN function_call w ON w.call_id = d.writer_call_id
ORDER BY d.bytes DESC, d.reader_call_id, d.writer_call_id, d.via;
