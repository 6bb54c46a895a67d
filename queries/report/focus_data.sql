-- Dataflow of one call instance with functions: the current edges of the paper's figure 10.
-- reads: dataflow, function_call
-- needs: TEMP VIEW instance_flow; TEMP TABLE merged
-- param call BIGINT: call_id of the instance
-- writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses (NULL: not kept by instance), transfers
SELECT CAST(CASE WHEN f.writer < 0 THEN -f.writer ELSE w.function_id END AS INTEGER) AS writer_function_id,
       r.function_id AS reader_function_id, f.via, CAST(sum(f.bytes) AS BIGINT) AS bytes,
       CASE WHEN count(f.unique_bytes) = count(*) THEN CAST(sum(f.unique_bytes) AS BIGINT) END AS unique_bytes,
       CAST(NULL AS BIGINT) AS addresses, CAST(sum(f.transfers) AS BIGINT) AS transfers
FROM (SELECT CAST(? AS BIGINT) AS call) focus
JOIN instance_flow f ON f.writer = focus.call OR f.reader = focus.call
LEFT JOIN function_call w ON w.call_id = f.writer
JOIN function_call r ON r.call_id = f.reader
GROUP BY 1, r.function_id, f.via;
