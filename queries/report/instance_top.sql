-- The call instances with the largest share of the run's steps or of the bytes that instances read of others, and all pseudo-functions.
-- reads: function_call, function_symbol
-- needs: TEMP TABLE merged
-- param top BIGINT: call instances at most
-- node, distance (0)
WITH whole AS (SELECT coalesce(sum(bytes_in), 0) + 1 AS bytes, coalesce(sum(steps_self), 0) + 1 AS steps FROM function_call),
reading AS (SELECT call_id, bytes_in FROM function_call WHERE bytes_in > 0 ORDER BY bytes_in DESC, call_id LIMIT $1),
long AS (
    SELECT call_id, CASE WHEN 10 * steps_self > steps_total THEN 1.0 * steps_self ELSE steps_total / 10.0 END AS steps
    FROM function_call WHERE call_id NOT IN (SELECT call_id FROM merged) ORDER BY steps DESC, call_id LIMIT $1),
share AS (
    SELECT coalesce(m.into_call_id, r.call_id) AS node, 1.0 * r.bytes_in / whole.bytes AS part
    FROM reading r CROSS JOIN whole LEFT JOIN merged m ON m.call_id = r.call_id
    UNION ALL
    SELECT call_id, long.steps / whole.steps FROM long CROSS JOIN whole),
top AS (SELECT node FROM share GROUP BY node ORDER BY max(part) DESC, node LIMIT $1)
SELECT CAST(node AS BIGINT) AS node, 0 AS distance FROM top
UNION ALL
SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
