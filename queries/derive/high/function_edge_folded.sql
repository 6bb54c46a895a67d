-- function_edge with stubs merged into their callers.
-- reads: function_edge, dataflow_row, place, folded_call
-- as the table function_edge_folded
WITH stub AS (SELECT DISTINCT function_id FROM folded_call),
-- Few rows have to do with a stub instance.
touched AS MATERIALIZED (
    SELECT * FROM dataflow_row
    WHERE reader_call_id IN (SELECT call_id FROM folded_call) OR writer_call_id IN (SELECT call_id FROM folded_call))
SELECT writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes,
       CASE WHEN NOT bool_or(merged) THEN sum(unique_bytes)::BIGINT END AS unique_bytes,
       CASE WHEN NOT bool_or(merged) THEN sum(addresses)::BIGINT END AS addresses, sum(transfers)::BIGINT AS transfers
FROM (SELECT *, false AS merged FROM function_edge
      WHERE writer_function_id NOT IN (FROM stub) AND reader_function_id NOT IN (FROM stub)
      UNION ALL
      SELECT coalesce(w.into_function_id, d.writer_function_id, p.function_id), coalesce(r.into_function_id, d.reader_function_id), p.via,
             d.bytes, NULL, NULL, d.transfers, true
      FROM touched d JOIN place p USING (place_id)
      LEFT JOIN folded_call r ON r.call_id = d.reader_call_id LEFT JOIN folded_call w ON w.call_id = d.writer_call_id)
GROUP BY ALL
ORDER BY writer_function_id, reader_function_id, via
