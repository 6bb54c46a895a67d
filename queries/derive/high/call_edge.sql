-- Calls by function pair.
-- reads: derived_call, derived_steps
-- as the table call_edge
CREATE TEMP TABLE derived_call_edge AS
SELECT p.function_id AS caller_function_id, c.function_id AS callee_function_id, c.kind, count(*) AS calls,
       sum(s.steps_total)::BIGINT AS steps
FROM derived_call c JOIN derived_steps s USING (call_id) LEFT JOIN derived_call p ON p.call_id = c.parent_call_id GROUP BY ALL;
