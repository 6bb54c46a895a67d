-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- reads: dataflow
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH part AS MATERIALIZED (
    SELECT node AS call_id, node, false AS gone FROM near
    UNION ALL SELECT m.call_id, n.node, true FROM merged m JOIN near n ON n.node = m.into_call_id),
touching AS MATERIALIZED (
    SELECT coalesce(w.node, 0)::BIGINT AS writer, coalesce(r.node, 0)::BIGINT AS reader, d.via, sum(d.bytes)::BIGINT AS bytes,
           CASE WHEN count(d.unique_bytes) = count(*) AND NOT coalesce(bool_or(w.gone OR r.gone), false)
                THEN sum(d.unique_bytes)::BIGINT END AS unique_bytes,
           sum(d.transfers)::BIGINT AS transfers
    FROM dataflow d LEFT JOIN part w ON w.call_id = coalesce(d.writer_call_id, -d.writer_function_id)
    LEFT JOIN part r ON r.call_id = d.reader_call_id
    WHERE w.call_id IS NOT NULL OR r.call_id IS NOT NULL
    GROUP BY ALL),
-- What touches none of the nodes is all less what does.
beside AS (
    SELECT via, sum(bytes)::BIGINT AS bytes, sum(transfers)::BIGINT AS transfers
    FROM (SELECT via, sum(bytes) AS bytes, sum(transfers) AS transfers FROM dataflow GROUP BY via
          UNION ALL SELECT via, -bytes, -transfers FROM touching)
    GROUP BY via HAVING sum(bytes) > 0)
SELECT writer, reader, via, bytes, unique_bytes, NULL::BIGINT AS addresses, transfers FROM touching
UNION ALL SELECT 0, 0, via, bytes, NULL, NULL, transfers FROM beside;
