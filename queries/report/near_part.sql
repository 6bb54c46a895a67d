-- The call instances of TEMP TABLE near and the stub instances that are merged into them, each with its node.
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- call_id, node
SELECT CAST(node AS INTEGER) AS call_id, CAST(node AS INTEGER) AS node FROM near WHERE node > 0
UNION ALL SELECT m.call_id, CAST(n.node AS INTEGER) FROM merged m JOIN near n ON n.node = m.into_call_id;
