-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- reads: dataflow
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH part AS MATERIALIZED (
    SELECT node AS call_id, node, false AS gone FROM near
    UNION ALL SELECT m.call_id, n.node, true FROM merged m JOIN near n ON n.node = m.into_call_id),
touching AS MATERIALIZED (
    SELECT CAST(coalesce(w.node, 0) AS BIGINT) AS writer, CAST(coalesce(r.node, 0) AS BIGINT) AS reader, d.via,
           CAST(sum(d.bytes) AS BIGINT) AS bytes,
           CASE WHEN count(d.unique_bytes) = count(*) AND count(CASE WHEN w.gone OR r.gone THEN 1 END) = 0
                THEN CAST(sum(d.unique_bytes) AS BIGINT) END AS unique_bytes,
           CAST(sum(d.transfers) AS BIGINT) AS transfers
    FROM dataflow d LEFT JOIN part w ON w.call_id = coalesce(d.writer_call_id, -d.writer_function_id)
    LEFT JOIN part r ON r.call_id = d.reader_call_id
    WHERE w.call_id IS NOT NULL OR r.call_id IS NOT NULL
    GROUP BY 1, 2, d.via),
-- What touches none of the nodes is all less what does.
beside AS (
    SELECT via, CAST(sum(bytes) AS BIGINT) AS bytes, CAST(sum(transfers) AS BIGINT) AS transfers
    FROM (SELECT via, sum(bytes) AS bytes, sum(transfers) AS transfers FROM dataflow GROUP BY via
          UNION ALL SELECT via, -bytes, -transfers FROM touching)
    GROUP BY via HAVING sum(bytes) > 0)
SELECT writer, reader, via, bytes, unique_bytes, CAST(NULL AS BIGINT) AS addresses, transfers FROM touching
UNION ALL SELECT 0, 0, via, bytes, NULL, NULL, transfers FROM beside;
