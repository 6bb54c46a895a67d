-- Intervals in which reads count: those of one call instance, or the whole of each thread.
-- reads: control_flow, function_call, thread
-- param reader INTEGER: function id of the reader
-- param instance INTEGER = NULL: call instance of the reader
-- thread_id, start_seq, end_seq (inclusive)
SELECT i.thread_id, i.start_seq, i.end_seq
FROM control_flow i JOIN function_call c ON c.call_id = i.call_id
WHERE c.function_id = $1 AND c.instance = $2
UNION ALL
SELECT thread_id, 0, 9223372036854775807 FROM thread WHERE CAST($2 AS INTEGER) IS NULL;
