-- Calls of and by one call instance, by function.
-- reads: function_call
-- needs: TEMP VIEW instance_call; TEMP TABLE merged
-- param call BIGINT: call_id of the instance
-- caller_function_id, callee_function_id, calls, steps (of the callees, with all below them)
SELECT a.function_id AS caller_function_id, b.function_id AS callee_function_id, count(*) AS calls, CAST(sum(c.steps) AS BIGINT) AS steps
FROM (SELECT CAST(? AS BIGINT) AS call) focus
JOIN instance_call c ON c.caller = focus.call OR c.callee = focus.call
JOIN function_call a ON a.call_id = c.caller
JOIN function_call b ON b.call_id = c.callee
GROUP BY a.function_id, b.function_id;
