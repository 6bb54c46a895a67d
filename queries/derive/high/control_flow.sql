-- Intervals of call instances, for a trace of one thread: an interval begins where an instance begins or where control comes back.
-- reads: function_call, meta
-- interval_id, thread_id, call_id, function_id, start_seq, end_seq
CREATE TEMP TABLE derived_control_flow AS
WITH boundary AS (
    SELECT call_seq AS seq, call_id, depth, 1 AS enters FROM function_call
    UNION ALL
    -- Where an instance ends its parent goes on, unless another begins there.
    SELECT return_seq + 1, parent_call_id, depth, 0 FROM function_call
    WHERE parent_call_id IS NOT NULL AND return_seq < (SELECT value::BIGINT FROM meta WHERE key = 'steps')),
start AS (
    SELECT seq, first(call_id ORDER BY enters DESC, CASE WHEN enters = 1 THEN -depth ELSE depth END) AS call_id
    FROM boundary GROUP BY seq)
SELECT row_number() OVER (ORDER BY seq) AS interval_id, f.thread_id, s.call_id, f.function_id, seq AS start_seq,
       coalesce(lead(seq) OVER (ORDER BY seq) - 1, (SELECT value::BIGINT FROM meta WHERE key = 'steps')) AS end_seq
FROM start s JOIN function_call f USING (call_id);
