-- The call instances (and pseudo-functions) with the largest share of the run's steps or of the traffic between instances.
-- reads: function_call
-- needs: TEMP VIEW instance_flow; TEMP TABLE merged
-- param top BIGINT: rows at most
-- node, distance (0)
WITH traffic AS (
    SELECT node, sum(bytes) AS bytes
    FROM (SELECT writer AS node, bytes FROM instance_flow WHERE writer <> reader
          UNION ALL SELECT reader, bytes FROM instance_flow WHERE writer <> reader)
    GROUP BY ALL),
share AS (
    SELECT node, bytes / sum(bytes) OVER () AS part FROM traffic
    UNION ALL
    SELECT c.call_id, greatest(c.steps_self, c.steps_total / 10) / sum(c.steps_self) OVER ()
    FROM function_call c ANTI JOIN merged m ON m.call_id = c.call_id)
SELECT node, 0 AS distance FROM share
GROUP BY node
ORDER BY max(part) DESC, node
LIMIT ?;
