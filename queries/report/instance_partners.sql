-- What each call instance of a function read of others, and what others read of it, by the function on the other side.
-- reads: function_call, dataflow
-- param function INTEGER: function id
-- call_id, reads (it read), other (function id), bytes
SELECT d.reader_call_id AS call_id, true AS reads, d.writer_function_id AS other, CAST(sum(d.bytes) AS BIGINT) AS bytes
FROM dataflow d JOIN function_call m ON m.call_id = d.reader_call_id
WHERE m.function_id = CAST($1 AS INTEGER) AND d.writer_call_id IS DISTINCT FROM d.reader_call_id
GROUP BY d.reader_call_id, d.writer_function_id
UNION ALL
SELECT d.writer_call_id AS call_id, false AS reads, d.reader_function_id AS other, CAST(sum(d.bytes) AS BIGINT) AS bytes
FROM dataflow d JOIN function_call m ON m.call_id = d.writer_call_id
WHERE m.function_id = CAST($1 AS INTEGER) AND d.writer_call_id <> d.reader_call_id
GROUP BY d.writer_call_id, d.reader_function_id;
