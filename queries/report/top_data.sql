-- What instance_data.sql gives, of what is kept for the largest call instances.
-- reads: top_dataflow
-- needs: TEMP TABLE near (node, distance), all its call instances in top_call
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH edge AS (
    SELECT coalesce(w.node, 0) AS writer, coalesce(r.node, 0) AS reader, d.via, d.bytes, d.unique_bytes, d.transfers
    FROM top_dataflow d LEFT JOIN near w ON w.node = d.writer LEFT JOIN near r ON r.node = d.reader)
SELECT CAST(writer AS BIGINT) AS writer, CAST(reader AS BIGINT) AS reader, via, CAST(sum(bytes) AS BIGINT) AS bytes,
       CASE WHEN count(unique_bytes) = count(*) AND (writer <> 0 OR reader <> 0) THEN CAST(sum(unique_bytes) AS BIGINT) END AS unique_bytes,
       CAST(NULL AS BIGINT) AS addresses, CAST(sum(transfers) AS BIGINT) AS transfers
FROM edge GROUP BY writer, reader, via;
