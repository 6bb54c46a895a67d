-- Dataflow between groups of call instances (calling contexts, threads).
-- needs: TEMP VIEW instance_flow; TEMP TABLE group_of (call_id, node): the group of each instance
-- writer, reader (groups; negative: a pseudo-function), via, bytes, unique_bytes, addresses (NULL: not kept by instance), transfers
SELECT CAST(CASE WHEN f.writer < 0 THEN f.writer ELSE w.node END AS BIGINT) AS writer, CAST(r.node AS BIGINT) AS reader, f.via,
       CAST(sum(f.bytes) AS BIGINT) AS bytes,
       CASE WHEN count(f.unique_bytes) = count(*) THEN CAST(sum(f.unique_bytes) AS BIGINT) END AS unique_bytes,
       CAST(NULL AS BIGINT) AS addresses, CAST(sum(f.transfers) AS BIGINT) AS transfers
FROM instance_flow f LEFT JOIN group_of w ON w.call_id = f.writer JOIN group_of r ON r.call_id = f.reader
GROUP BY 1, 2, f.via;
