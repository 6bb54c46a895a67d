-- What call instances of TEMP TABLE near_part wrote, whoever read it: sums by node.
-- reads: dataflow_row
-- needs: TEMP TABLE near_part (as near_part.sql gives)
-- writer, place_id, flows, bytes, transfers, unique_bytes, unknown (flows without unique bytes, or of a merged writer)
SELECT w.node AS writer, d.place_id, count(*) AS flows, sum(d.bytes) AS bytes, sum(d.transfers) AS transfers,
       sum(d.unique_bytes) AS unique_bytes,
       count(*) - count(d.unique_bytes) + sum(CASE WHEN w.call_id <> w.node THEN 1 ELSE 0 END) AS unknown
FROM dataflow_row d JOIN near_part w ON w.call_id = d.writer_call_id
GROUP BY w.node, d.place_id;
