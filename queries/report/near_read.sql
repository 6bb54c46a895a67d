-- What call instances of TEMP TABLE near_part read: sums by node.
-- needs: TEMP TABLE near_part, near_flow (as near_part.sql and near_flow.sql give)
-- writer (NULL beside near), reader, function_id (a pseudo-function), nobody (1: no instance wrote it), place_id, flows, bytes, transfers,
-- unique_bytes, unknown (flows without unique bytes, or of a merged writer), merged (flows to a merged reader)
SELECT w.node AS writer, d.reader, CASE WHEN d.writer_call_id IS NULL THEN d.writer_function_id END AS function_id,
       CASE WHEN d.writer_call_id IS NULL THEN 1 ELSE 0 END AS nobody, d.place_id, count(*) AS flows, sum(d.bytes) AS bytes,
       sum(d.transfers) AS transfers, sum(d.unique_bytes) AS unique_bytes,
       count(*) - count(d.unique_bytes) + sum(CASE WHEN w.call_id <> w.node THEN 1 ELSE 0 END) AS unknown, sum(d.merged) AS merged
FROM near_flow d LEFT JOIN near_part w ON w.call_id = d.writer_call_id
GROUP BY 1, 2, 3, 4, d.place_id;
