-- Steps of instances, and with their descendants: all of their thread while the instance lives.
-- reads: step_call, last_part, derived_call
-- call_id, steps_self, steps_total
CREATE TEMP TABLE derived_steps AS
WITH span AS (
    SELECT s.call_id, coalesce(lead(s.steps_before) OVER t, l.steps) - s.steps_before AS steps
    FROM step_call s JOIN last_part l USING (thread_id) WINDOW t AS (PARTITION BY s.thread_id ORDER BY s.seq)),
self AS (SELECT call_id, sum(steps)::BIGINT AS steps_self FROM span GROUP BY call_id),
every AS (
    SELECT c.call_id, coalesce(e.steps_before, l.steps) - b.steps_before AS steps_total
    FROM derived_call c JOIN last_part l USING (thread_id)
    JOIN mark b ON b.seq = c.call_seq LEFT JOIN mark e ON e.seq = c.ends_before)
SELECT call_id, steps_self, steps_total::BIGINT AS steps_total FROM self JOIN every USING (call_id);
