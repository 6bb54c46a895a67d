-- Intervals: longest runs of steps of a thread in one call instance.
-- reads: step_call
-- interval_id, thread_id, call_id, function_id, start_seq, end_seq
CREATE TEMP TABLE derived_control_flow AS
WITH start AS (
    SELECT * FROM (
        SELECT seq, thread_id, call_id, function_id,
               lag(call_id) OVER (PARTITION BY thread_id ORDER BY seq) IS DISTINCT FROM call_id AS begins,
               lag(seq) OVER (PARTITION BY thread_id ORDER BY seq) AS before_seq,
               max(seq) OVER (PARTITION BY thread_id) AS last_seq
        FROM step_call)
    WHERE begins)
SELECT row_number() OVER (ORDER BY seq) AS interval_id, thread_id, call_id, function_id, seq AS start_seq,
       coalesce(lead(before_seq) OVER (PARTITION BY thread_id ORDER BY seq), last_seq) AS end_seq
FROM start;
