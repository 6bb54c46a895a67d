-- Steps of instances and their sums over descendants.
-- reads: step_call, last_part, derived_call
-- call_id, steps_self, steps_total
CREATE TEMP TABLE derived_steps AS
WITH RECURSIVE span AS (
    SELECT s.call_id, coalesce(lead(s.steps_before) OVER t, l.steps) - s.steps_before AS steps
    FROM step_call s JOIN last_part l USING (thread_id) WINDOW t AS (PARTITION BY s.thread_id ORDER BY s.seq)),
self AS MATERIALIZED (SELECT call_id, sum(steps)::BIGINT AS steps_self FROM span GROUP BY call_id),
up AS (
    SELECT s.call_id, s.steps_self, c.parent_call_id AS next FROM self s JOIN derived_call c USING (call_id)
    UNION ALL
    -- Added up on the way: each round goes one caller up.
    SELECT p.call_id, u.steps, p.parent_call_id
    FROM (SELECT next, sum(steps_self)::BIGINT AS steps FROM up WHERE next IS NOT NULL GROUP BY next) u
    JOIN derived_call p ON p.call_id = u.next)
SELECT s.call_id, s.steps_self, sum(u.steps_self)::BIGINT AS steps_total FROM self s JOIN up u USING (call_id) GROUP BY ALL;
