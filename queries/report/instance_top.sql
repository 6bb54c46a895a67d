-- The call instances with the largest share of the run's steps or of the bytes that instances read of others, and all pseudo-functions.
-- reads: function_call, function_symbol
-- needs: TEMP TABLE merged
-- param top BIGINT: call instances at most
-- node, distance (0)
WITH whole AS (SELECT greatest(sum(bytes_in), 1) AS bytes, greatest(sum(steps_self), 1) AS steps FROM function_call),
reading AS (SELECT call_id, bytes_in FROM function_call WHERE bytes_in > 0 ORDER BY bytes_in DESC, call_id LIMIT $1),
long AS (
    SELECT c.call_id, greatest(c.steps_self, c.steps_total / 10) AS steps
    FROM function_call c ANTI JOIN merged m ON m.call_id = c.call_id ORDER BY steps DESC, c.call_id LIMIT $1),
share AS (
    SELECT coalesce(m.into_call_id, r.call_id) AS node, r.bytes_in / whole.bytes AS part
    FROM reading r CROSS JOIN whole LEFT JOIN merged m ON m.call_id = r.call_id
    UNION ALL
    SELECT call_id, long.steps / whole.steps FROM long CROSS JOIN whole),
top AS (SELECT node FROM share GROUP BY node ORDER BY max(part) DESC, node LIMIT $1)
SELECT node::BIGINT AS node, 0 AS distance FROM top
UNION ALL
SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
