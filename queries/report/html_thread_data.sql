-- Data between calls of different threads, the pairs with the most bytes first; steps count from the first call on.
-- reads: dataflow, function_call
-- param top BIGINT: pairs at most
-- writer_thread, writer_depth, writer_function_id, writer_first, writer_last, reader_thread, reader_depth, reader_function_id,
-- reader_first, reader_last, bytes
WITH placed AS (
    SELECT call_id, thread_id, depth, function_id, call_seq AS first, return_seq AS last
    FROM function_call WHERE kind <> 'stub' AND return_seq >= call_seq),
bound AS (SELECT min(first) AS low FROM placed),
pair AS (
    SELECT d.writer_call_id, d.reader_call_id, CAST(sum(d.bytes) AS BIGINT) AS bytes
    FROM dataflow d JOIN placed w ON w.call_id = d.writer_call_id JOIN placed r ON r.call_id = d.reader_call_id
    WHERE w.thread_id <> r.thread_id GROUP BY d.writer_call_id, d.reader_call_id ORDER BY 3 DESC, 1, 2 LIMIT $1)
SELECT w.thread_id AS writer_thread, w.depth AS writer_depth, w.function_id AS writer_function_id, w.first - b.low AS writer_first,
       w.last - b.low AS writer_last, r.thread_id AS reader_thread, r.depth AS reader_depth, r.function_id AS reader_function_id,
       r.first - b.low AS reader_first, r.last - b.low AS reader_last, p.bytes
FROM pair p JOIN placed w ON w.call_id = p.writer_call_id JOIN placed r ON r.call_id = p.reader_call_id CROSS JOIN bound b
ORDER BY p.bytes DESC, p.writer_call_id, p.reader_call_id;
