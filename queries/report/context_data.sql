-- Dataflow between groups of call instances (calling contexts, threads).
-- needs: TEMP VIEW instance_flow; TEMP TABLE group_of (call_id, node): the group of each instance
-- writer, reader (groups; negative: a pseudo-function), via, bytes, unique_bytes, addresses (NULL: not kept by instance), transfers
SELECT CASE WHEN f.writer < 0 THEN f.writer ELSE w.node END::BIGINT AS writer, r.node::BIGINT AS reader, f.via,
       sum(f.bytes)::BIGINT AS bytes, CASE WHEN count(f.unique_bytes) = count(*) THEN sum(f.unique_bytes)::BIGINT END AS unique_bytes,
       NULL::BIGINT AS addresses, sum(f.transfers)::BIGINT AS transfers
FROM instance_flow f LEFT JOIN group_of w ON w.call_id = f.writer JOIN group_of r ON r.call_id = f.reader
GROUP BY ALL;
