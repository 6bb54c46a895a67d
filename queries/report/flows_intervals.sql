-- Intervals in which reads count: those of one call instance, or the whole of each thread.
-- reads: control_flow, function_call, thread
-- needs: TEMP TABLE reader_function (function_id: of the set)
-- param instance INTEGER = NULL: call instance of the readers
-- thread_id, start_seq, end_seq (inclusive)
SELECT i.thread_id, i.start_seq, i.end_seq
FROM control_flow i JOIN function_call c ON c.call_id = i.call_id
WHERE c.function_id IN (SELECT function_id FROM reader_function) AND c.instance = $1
UNION ALL
SELECT thread_id, 0, 9223372036854775807 FROM thread WHERE CAST($1 AS INTEGER) IS NULL;
