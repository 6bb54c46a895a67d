-- function_edge with stubs merged into their callers.
-- reads: function_edge, dataflow_row, place, folded_call
-- as the table function_edge_folded
WITH stub AS (SELECT DISTINCT function_id FROM folded_call),
-- Few rows have to do with a stub instance, so that only they are grouped: edges of other functions are rows as they are.
touched AS MATERIALIZED (
    SELECT * FROM dataflow_row
    WHERE reader_call_id IN (SELECT call_id FROM folded_call) OR writer_call_id IN (SELECT call_id FROM folded_call)),
merged AS MATERIALIZED (
    SELECT coalesce(w.into_function_id, d.writer_function_id, p.function_id) AS writer_function_id,
           coalesce(r.into_function_id, d.reader_function_id) AS reader_function_id, p.via,
           sum(d.bytes)::BIGINT AS bytes, sum(d.transfers)::BIGINT AS transfers
    FROM touched d JOIN place p USING (place_id)
    LEFT JOIN folded_call r ON r.call_id = d.reader_call_id LEFT JOIN folded_call w ON w.call_id = d.writer_call_id
    GROUP BY ALL),
own AS NOT MATERIALIZED (
    SELECT * FROM function_edge WHERE writer_function_id NOT IN (FROM stub) AND reader_function_id NOT IN (FROM stub)),
met AS MATERIALIZED (
    SELECT m.writer_function_id, m.reader_function_id, m.via
    FROM own e JOIN merged m ON m.writer_function_id = e.writer_function_id AND m.reader_function_id = e.reader_function_id
         AND m.via IS NOT DISTINCT FROM e.via)
SELECT e.writer_function_id, e.reader_function_id, e.via, coalesce(e.bytes + m.bytes, e.bytes, m.bytes) AS bytes,
       CASE WHEN m.bytes IS NULL THEN e.unique_bytes END AS unique_bytes,
       CASE WHEN m.bytes IS NULL THEN e.addresses END AS addresses,
       coalesce(e.transfers + m.transfers, e.transfers, m.transfers) AS transfers
FROM own e LEFT JOIN merged m ON m.writer_function_id = e.writer_function_id
     AND m.reader_function_id = e.reader_function_id AND m.via IS NOT DISTINCT FROM e.via
UNION ALL
(SELECT m.writer_function_id, m.reader_function_id, m.via, m.bytes, NULL, NULL, m.transfers
 FROM merged m ANTI JOIN met ON met.writer_function_id = m.writer_function_id
      AND met.reader_function_id = m.reader_function_id AND met.via IS NOT DISTINCT FROM m.via
 ORDER BY m.writer_function_id, m.reader_function_id, m.via)
