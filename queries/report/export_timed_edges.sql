-- Calls by caller and callee, where the trace has a clock and no steps.
-- needs: TEMP TABLE export_call (as export_timed_calls.sql gives)
-- caller_function_id, callee_function_id, file_id, line (NULL and 0: not known), calls, ticks (of the callee's instances, with all below)
SELECT p.function_id AS caller_function_id, c.function_id AS callee_function_id, NULL AS file_id, 0 AS line, count(*) AS calls,
       CAST(sum(c.last - c.first) AS BIGINT) AS ticks
FROM export_call c JOIN export_call p ON p.call_id = c.caller
GROUP BY p.function_id, c.function_id
ORDER BY 1, 2;
