-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- reads: dataflow_row, place, function_edge
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH part AS MATERIALIZED (
    SELECT node AS call_id, node, false AS gone FROM near WHERE node > 0
    UNION ALL SELECT m.call_id, n.node, true FROM merged m JOIN near n ON n.node = m.into_call_id),
-- Few rows have to do with a call of near; the rest is known in sums.
touched AS MATERIALIZED (
    SELECT * FROM dataflow_row WHERE reader_call_id IN (SELECT call_id FROM part) OR writer_call_id IN (SELECT call_id FROM part)),
touching AS MATERIALIZED (
    SELECT CAST(CASE WHEN d.writer_call_id IS NULL THEN coalesce(nobody.node, 0) ELSE coalesce(w.node, 0) END AS BIGINT) AS writer,
           CAST(coalesce(r.node, 0) AS BIGINT) AS reader, p.via, CAST(sum(d.bytes) AS BIGINT) AS bytes,
           CASE WHEN count(d.unique_bytes) = count(*) AND count(CASE WHEN w.gone OR r.gone THEN 1 END) = 0
                THEN CAST(sum(d.unique_bytes) AS BIGINT) END AS unique_bytes,
           CAST(sum(d.transfers) AS BIGINT) AS transfers
    FROM touched d JOIN place p USING (place_id)
    LEFT JOIN part w ON w.call_id = d.writer_call_id LEFT JOIN part r ON r.call_id = d.reader_call_id
    LEFT JOIN near nobody ON nobody.node = -coalesce(d.writer_function_id, p.function_id)
    GROUP BY 1, 2, p.via),
-- What pseudo-functions of near and what others give to others: all less what was touched.
beside AS (
    SELECT writer, via, CAST(sum(bytes) AS BIGINT) AS bytes, CAST(sum(unique_bytes) AS BIGINT) AS unique_bytes, count(unique_bytes) = count(*) AS is_unique,
           CAST(sum(transfers) AS BIGINT) AS transfers
    FROM (SELECT coalesce(n.node, 0) AS writer, e.via, e.bytes, e.unique_bytes, e.transfers
          FROM function_edge e LEFT JOIN near n ON n.node = -e.writer_function_id
          UNION ALL SELECT CASE WHEN writer < 0 THEN writer ELSE 0 END, via, -bytes, -unique_bytes, -transfers FROM touching) part
    GROUP BY writer, via HAVING sum(bytes) > 0)
SELECT writer, reader, via, bytes, unique_bytes, CAST(NULL AS BIGINT) AS addresses, transfers FROM touching
UNION ALL SELECT writer, 0, via, bytes, CASE WHEN is_unique AND writer < 0 THEN unique_bytes END, NULL, transfers FROM beside;
