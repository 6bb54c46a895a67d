-- Dataflow between the nodes of TEMP TABLE near; what is beside them is node 0.
-- reads: place, function_edge
-- needs: TEMP TABLE near (node, distance), near_read, near_written (as near_read.sql and near_written.sql give)
-- writer, reader, via, bytes, unique_bytes (NULL where something was merged), addresses (NULL: not kept by instance), transfers
WITH summed AS (
    SELECT writer, reader, function_id, nobody, place_id, bytes, transfers, unique_bytes, unknown + merged AS unknown FROM near_read
    UNION ALL
    -- What instances beside near read of it: all readers less those of near.
    SELECT writer, NULL, NULL, 0, place_id, sum(bytes), sum(transfers), sum(unique_bytes), sum(unknown)
    FROM (SELECT * FROM near_written
          UNION ALL SELECT writer, place_id, -flows, -bytes, -transfers, -unique_bytes, -unknown FROM near_read WHERE writer IS NOT NULL) part
    GROUP BY writer, place_id HAVING sum(flows) > 0),
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
