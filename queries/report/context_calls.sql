-- Calls between groups of call instances.
-- needs: TEMP VIEW instance_call; TEMP TABLE group_of (call_id, node)
-- caller, callee (groups), calls, steps (of the callees, with all below them)
SELECT CAST(a.node AS BIGINT) AS caller, CAST(b.node AS BIGINT) AS callee, count(*) AS calls, CAST(sum(c.steps) AS BIGINT) AS steps
FROM instance_call c JOIN group_of a ON a.call_id = c.caller JOIN group_of b ON b.call_id = c.callee
GROUP BY a.node, b.node;
