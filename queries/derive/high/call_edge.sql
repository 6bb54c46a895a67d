-- Calls by function pair.
-- reads: function_call
-- as the table call_edge
CREATE TEMP TABLE derived_call_edge AS
SELECT p.function_id AS caller_function_id, c.function_id AS callee_function_id, c.kind, count(*) AS calls, sum(c.steps_total)::BIGINT AS steps
FROM function_call c LEFT JOIN function_call p ON p.call_id = c.parent_call_id GROUP BY ALL;
