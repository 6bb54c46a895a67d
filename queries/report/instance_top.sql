-- The call instances with the largest share of the run's steps or of the bytes that instances read of others, and all pseudo-functions.
-- reads: function_call, function_symbol
-- needs: TEMP TABLE merged
-- param top BIGINT: call instances at most
-- node, distance (0)
WITH whole AS (SELECT CAST(sum(bytes_in) AS DOUBLE) AS bytes, CAST(sum(steps_self) AS DOUBLE) AS steps FROM function_call),
reading AS (SELECT call_id, bytes_in FROM function_call WHERE bytes_in > 0 ORDER BY bytes_in DESC, call_id LIMIT $1),
long AS (
    SELECT c.call_id, CASE WHEN 10.0 * c.steps_self >= c.steps_total THEN 10.0 * c.steps_self ELSE c.steps_total END AS steps
    FROM function_call c WHERE c.call_id NOT IN (SELECT call_id FROM merged) ORDER BY steps DESC, c.call_id LIMIT $1),
share AS (
    SELECT coalesce(m.into_call_id, r.call_id) AS node, r.bytes_in / whole.bytes AS part
    FROM reading r CROSS JOIN whole LEFT JOIN merged m ON m.call_id = r.call_id
    UNION ALL
    SELECT call_id, long.steps / 10 / whole.steps FROM long CROSS JOIN whole),
top AS (SELECT node FROM share GROUP BY node ORDER BY max(part) DESC, node LIMIT $1)
SELECT CAST(node AS BIGINT) AS node, 0 AS distance FROM top
UNION ALL
SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
