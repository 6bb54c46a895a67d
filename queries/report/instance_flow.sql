-- Dataflow between nodes of the instance level: call instances, and pseudo-functions as the negative of their id.
-- reads: dataflow
-- needs: TEMP TABLE merged (call_id, into_call_id): stub instances and what they are merged into, or no row
-- writer, reader (nodes), via, bytes, transfers, unique_bytes (bytes; NULL where something was merged)
SELECT CAST(coalesce(w.into_call_id, d.writer_call_id, -d.writer_function_id) AS BIGINT) AS writer,
       CAST(coalesce(r.into_call_id, d.reader_call_id) AS BIGINT) AS reader, d.via, d.bytes, d.transfers,
       CASE WHEN w.call_id IS NULL AND r.call_id IS NULL THEN d.unique_bytes END AS unique_bytes
FROM dataflow d
LEFT JOIN merged w ON w.call_id = d.writer_call_id
LEFT JOIN merged r ON r.call_id = d.reader_call_id;
