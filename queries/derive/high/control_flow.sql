-- Intervals: longest runs of steps of a thread in one call instance.
-- reads: step_call, last_part
-- interval_id, thread_id, call_id, function_id, start_seq, end_seq
CREATE TEMP TABLE derived_control_flow AS
SELECT row_number() OVER (ORDER BY s.seq) AS interval_id, s.thread_id, s.call_id, s.function_id, s.seq AS start_seq,
       coalesce(lead(s.from_seq) OVER t, l.last_seq) AS end_seq
FROM step_call s JOIN last_part l USING (thread_id) WINDOW t AS (PARTITION BY s.thread_id ORDER BY s.seq);
