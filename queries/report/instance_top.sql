-- The call instances with the largest share of the run's steps or of the traffic of instances with others, and all pseudo-functions.
-- reads: dataflow_row, function_call, function_symbol
-- needs: TEMP TABLE merged
-- param top BIGINT: call instances at most
-- node, distance (0)
WITH most AS (
    SELECT call_id, sum(bytes) AS bytes
    FROM (SELECT unnest([writer_call_id, reader_call_id]) AS call_id, bytes FROM dataflow_row
          WHERE writer_call_id IS DISTINCT FROM reader_call_id)
    WHERE call_id IS NOT NULL
    GROUP BY call_id ORDER BY bytes DESC, call_id LIMIT $1),
whole AS (SELECT sum(bytes) AS bytes FROM dataflow_row WHERE writer_call_id IS DISTINCT FROM reader_call_id),
long AS (
    SELECT c.call_id, greatest(c.steps_self, c.steps_total / 10) AS steps
    FROM function_call c ANTI JOIN merged m ON m.call_id = c.call_id ORDER BY steps DESC, c.call_id LIMIT $1),
share AS (
    SELECT coalesce(m.into_call_id, t.call_id) AS node, t.bytes / whole.bytes AS part
    FROM most t CROSS JOIN whole LEFT JOIN merged m ON m.call_id = t.call_id
    UNION ALL
    SELECT call_id, steps / (SELECT sum(steps_self) FROM function_call) FROM long),
top AS (SELECT node FROM share GROUP BY node ORDER BY max(part) DESC, node LIMIT $1)
SELECT node::BIGINT AS node, 0 AS distance FROM top
UNION ALL
SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
