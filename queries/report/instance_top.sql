-- The call instances with the largest share of the run's steps or of the bytes that instances read of others.
-- reads: function_call
-- needs: TEMP TABLE merged_function (function_id): stubs whose instances are merged into their callers, or no row
-- param top BIGINT: call instances at most
-- call_id, share (of the run, 0 to 1)
WITH shown AS (
    -- By function: instances of stubs may be a third of all.
    SELECT * FROM function_call WHERE parent_call_id IS NULL OR function_id NOT IN (SELECT function_id FROM merged_function)),
whole AS (SELECT CAST(sum(bytes_in) AS DOUBLE) AS bytes, CAST(sum(steps_self) AS DOUBLE) AS steps FROM function_call),
reading AS (
    SELECT call_id, bytes_in FROM shown WHERE bytes_in > 0 ORDER BY bytes_in DESC, call_id LIMIT $1),
-- Its own steps count ten times what those below it do.
long AS (
    SELECT call_id, CASE WHEN 10 * steps_self >= steps_total THEN 10 * steps_self ELSE steps_total END AS steps
    FROM shown ORDER BY steps DESC, call_id LIMIT $1),
share AS (
    SELECT call_id, bytes_in / whole.bytes AS part FROM reading CROSS JOIN whole
    UNION ALL
    SELECT call_id, long.steps / 10.0 / whole.steps FROM long CROSS JOIN whole)
SELECT call_id, CAST(max(part) AS DOUBLE) AS share FROM share GROUP BY call_id ORDER BY share DESC, call_id LIMIT $1;
