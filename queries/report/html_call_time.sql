-- How long call instances took, by the trace's clock.
-- reads: function_call
-- call_id, time (from the first to the last moment, callees included)
SELECT call_id,
       CAST(CASE WHEN return_time - call_time < 4611686018427387904 THEN return_time - call_time ELSE 4611686018427387904 END AS BIGINT) AS time
FROM function_call WHERE call_time IS NOT NULL AND return_time >= call_time
ORDER BY call_id;
