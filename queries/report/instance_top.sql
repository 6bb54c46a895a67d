-- The call instances with the largest share of the run's steps or of the traffic of instances with others, and all pseudo-functions.
-- reads: dataflow_row, function_call, function_symbol
-- needs: TEMP TABLE merged
-- param top BIGINT: call instances at most
-- node, distance (0)
WITH most AS (
    SELECT call_id, sum(bytes) AS bytes
    FROM (SELECT writer_call_id AS call_id, bytes FROM dataflow_row WHERE writer_call_id IS DISTINCT FROM reader_call_id
          UNION ALL SELECT reader_call_id, bytes FROM dataflow_row WHERE writer_call_id IS DISTINCT FROM reader_call_id) ends
    WHERE call_id IS NOT NULL
    GROUP BY call_id ORDER BY bytes DESC, call_id LIMIT $1),
whole AS (SELECT sum(bytes) AS bytes FROM dataflow_row WHERE writer_call_id IS DISTINCT FROM reader_call_id),
long AS (
    SELECT c.call_id, CASE WHEN 10.0 * c.steps_self >= c.steps_total THEN 10.0 * c.steps_self ELSE c.steps_total END AS steps
    FROM function_call c WHERE c.call_id NOT IN (SELECT call_id FROM merged) ORDER BY steps DESC, c.call_id LIMIT $1),
share AS (
    SELECT coalesce(m.into_call_id, t.call_id) AS node, CAST(t.bytes AS DOUBLE) / whole.bytes AS part
    FROM most t CROSS JOIN whole LEFT JOIN merged m ON m.call_id = t.call_id
    UNION ALL
    SELECT call_id, CAST(steps AS DOUBLE) / 10 / (SELECT sum(steps_self) FROM function_call) FROM long),
top AS (SELECT node FROM share GROUP BY node ORDER BY max(part) DESC, node LIMIT $1)
SELECT CAST(node AS BIGINT) AS node, 0 AS distance FROM top
UNION ALL
SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
