-- What instance_calls.sql gives, of what is kept for the largest call instances.
-- reads: top_call_edge
-- needs: TEMP TABLE near (node, distance), all its call instances in top_call
-- caller, callee, calls, steps (of the callees, with all below them)
SELECT CAST(coalesce(a.node, 0) AS BIGINT) AS caller, CAST(coalesce(b.node, 0) AS BIGINT) AS callee, CAST(sum(e.calls) AS BIGINT) AS calls,
       CAST(sum(e.steps) AS BIGINT) AS steps
FROM top_call_edge e LEFT JOIN near a ON a.node = e.caller LEFT JOIN near b ON b.node = e.callee
GROUP BY 1, 2;
