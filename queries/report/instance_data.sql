-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- needs: TEMP TABLE near (node, distance); TEMP VIEW instance_flow
-- writer, reader, via, bytes, unique_bytes, addresses (NULL: not kept by instance), transfers
SELECT coalesce(w.node, 0)::BIGINT AS writer, coalesce(r.node, 0)::BIGINT AS reader, f.via, sum(f.bytes)::BIGINT AS bytes,
       CASE WHEN count(f.unique_bytes) = count(*) THEN sum(f.unique_bytes)::BIGINT END AS unique_bytes, NULL::BIGINT AS addresses,
       sum(f.transfers)::BIGINT AS transfers
FROM instance_flow f LEFT JOIN near w ON w.node = f.writer LEFT JOIN near r ON r.node = f.reader
GROUP BY ALL;
