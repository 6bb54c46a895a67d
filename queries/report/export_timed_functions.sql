-- Ticks of functions themselves, where the trace has a clock and no steps.
-- needs: TEMP TABLE export_call (as export_timed_calls.sql gives)
-- function_id, file_id, line (NULL and 0: not known), ticks
SELECT function_id, NULL AS file_id, 0 AS line, CAST(sum(own) AS BIGINT) AS ticks FROM export_call GROUP BY function_id ORDER BY 1;
