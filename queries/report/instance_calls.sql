-- Calls between the nodes of TEMP TABLE near; what is beside them is node 0.
-- needs: TEMP TABLE near (node, distance); TEMP VIEW instance_call
-- caller, callee, calls, steps (of the callees, with all below them)
SELECT coalesce(a.node, 0)::BIGINT AS caller, coalesce(b.node, 0)::BIGINT AS callee, count(*) AS calls, sum(c.steps)::BIGINT AS steps
FROM instance_call c LEFT JOIN near a ON a.node = c.caller LEFT JOIN near b ON b.node = c.callee
GROUP BY ALL;
