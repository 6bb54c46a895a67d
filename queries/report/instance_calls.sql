-- Calls between the nodes of TEMP TABLE near; what is beside them is node 0.
-- needs: TEMP TABLE near (node, distance); TEMP VIEW instance_call
-- caller, callee, calls, steps (of the callees, with all below them)
SELECT CAST(coalesce(a.node, 0) AS BIGINT) AS caller, CAST(coalesce(b.node, 0) AS BIGINT) AS callee, count(*) AS calls,
       CAST(sum(c.steps) AS BIGINT) AS steps
FROM instance_call c LEFT JOIN near a ON a.node = c.caller LEFT JOIN near b ON b.node = c.callee
GROUP BY 1, 2;
