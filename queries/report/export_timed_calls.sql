-- Call instances of a trace with a clock and no steps, by thread, in order of their begins, stubs merged into their callers.
-- reads: function_call
-- needs: TEMP TABLE merged (call_id, into_call_id): stub instances and what they are merged into, or no row
-- call_id, function_id, instance, caller (the instance that it counts as called by, NULL: none), thread_id, first, last (ticks since the
-- first call, exclusive), own (ticks of itself)
WITH kept AS (
    SELECT c.call_id, c.function_id, c.instance, coalesce(m.into_call_id, c.parent_call_id) AS caller, c.thread_id,
           CAST(c.call_time - (SELECT min(call_time) FROM function_call) AS BIGINT) AS first,
           CAST(coalesce(c.return_time, c.call_time) - (SELECT min(call_time) FROM function_call) AS BIGINT) AS last
    FROM function_call c LEFT JOIN merged m ON m.call_id = c.parent_call_id
    WHERE c.call_id NOT IN (SELECT call_id FROM merged)),
below AS (SELECT caller, sum(last - first) AS ticks FROM kept GROUP BY caller)
SELECT k.call_id, k.function_id, k.instance, k.caller, k.thread_id, k.first, k.last,
       CAST(k.last - k.first - coalesce(below.ticks, 0) AS BIGINT) AS own
FROM kept k LEFT JOIN below ON below.caller = k.call_id
ORDER BY k.thread_id, k.call_id;
