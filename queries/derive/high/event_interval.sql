-- Intervals of traces that have entries and exits: longest times of a thread in one call instance.
-- reads: event_top, derived_event_call
-- interval_id, thread_id, call_id, function_id, start_time, end_time
CREATE OR REPLACE TEMP TABLE derived_event_interval AS
WITH ends AS (SELECT thread_id, arg_max(time, event_no) AS end_time FROM event_top GROUP BY ALL),
spans AS (
    SELECT event_no, thread_id, call_id, time AS start_time, lead(time) OVER (PARTITION BY thread_id ORDER BY event_no) AS end_time
    FROM event_top WHERE changes)
SELECT row_number() OVER (ORDER BY s.event_no) AS interval_id, s.thread_id, s.call_id, c.function_id, s.start_time,
       coalesce(s.end_time, e.end_time) AS end_time
FROM spans s JOIN derived_event_call c USING (call_id) JOIN ends e ON e.thread_id = s.thread_id;
