-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- reads: dataflow_row, place, function_edge
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH part AS MATERIALIZED (
    SELECT CAST(node AS INTEGER) AS call_id, node, 0 AS gone FROM near WHERE node > 0
    UNION ALL SELECT m.call_id, n.node, 1 FROM merged m JOIN near n ON n.node = m.into_call_id),
-- Few rows have to do with a call of near; the rest is known in sums.
touched AS (
    SELECT w.node AS writer, r.node AS reader, CASE WHEN r.node IS NOT NULL AND d.writer_call_id IS NULL THEN 1 ELSE 0 END AS nobody,
           d.writer_function_id, d.place_id, d.bytes, d.unique_bytes, d.transfers, coalesce(r.gone, 0) + coalesce(w.gone, 0) AS gone
    FROM dataflow_row d LEFT JOIN part r ON r.call_id = d.reader_call_id LEFT JOIN part w ON w.call_id = d.writer_call_id
    WHERE r.node IS NOT NULL OR w.node IS NOT NULL),
summed AS (
    SELECT writer, reader, CASE WHEN nobody = 1 THEN writer_function_id END AS function_id, nobody, place_id, sum(bytes) AS bytes,
           sum(transfers) AS transfers, sum(unique_bytes) AS unique_bytes, count(*) - count(unique_bytes) + sum(gone) AS unknown
    FROM touched GROUP BY 1, 2, 3, nobody, place_id),
touching AS MATERIALIZED (
    SELECT CAST(coalesce(CASE WHEN s.nobody = 1 THEN n.node ELSE s.writer END, 0) AS BIGINT) AS writer,
           CAST(coalesce(s.reader, 0) AS BIGINT) AS reader, p.via, CAST(sum(s.bytes) AS BIGINT) AS bytes,
           CASE WHEN sum(s.unknown) = 0 THEN CAST(sum(s.unique_bytes) AS BIGINT) END AS unique_bytes,
           CAST(sum(s.transfers) AS BIGINT) AS transfers
    FROM summed s JOIN place p ON p.place_id = s.place_id LEFT JOIN near n ON n.node = -coalesce(s.function_id, p.function_id)
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
