-- Nodes of the instance level that are one edge farther than the farthest of TEMP TABLE near.
-- needs: TEMP TABLE near (node, distance); TEMP VIEW instance_flow, instance_call
-- param data BOOLEAN: go along dataflow
-- param calls BOOLEAN: go along calls
-- node, distance (edges)
WITH edge AS (
    SELECT writer AS a, reader AS b FROM instance_flow WHERE ?
    UNION ALL SELECT caller, callee FROM instance_call WHERE ?),
rim AS (SELECT node, distance FROM near WHERE distance = (SELECT max(distance) FROM near))
SELECT node, max(distance) + 1 AS distance
FROM (SELECT b AS node, distance FROM edge JOIN rim ON a = rim.node
      UNION ALL SELECT a, distance FROM edge JOIN rim ON b = rim.node) next
WHERE node NOT IN (SELECT node FROM near)
GROUP BY node;
