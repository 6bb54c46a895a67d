-- Edges of a recorded control-flow graph between its basic blocks: within functions, over calls, and calls.
-- reads: cfg_edge
-- source, target (numbers of blocks), is_call, count (of an edge over a call, which need not be counted itself, how often control returned)
SELECT e.source_block_id AS source, e.target_block_id AS target, e.kind = 'call' AS is_call,
       CAST(CASE WHEN e.kind = 'bypass' AND coalesce(e.count, 0) = 0 THEN coalesce(r.count, 0) ELSE e.count END AS BIGINT) AS count
FROM cfg_edge e
LEFT JOIN (SELECT target_block_id, sum(count) AS count FROM cfg_edge WHERE kind = 'return' GROUP BY target_block_id) r
    ON r.target_block_id = e.target_block_id
WHERE e.kind IN ('branch', 'fall-through', 'repeat', 'bypass', 'call') AND (e.kind = 'bypass' OR e.count > 0);
