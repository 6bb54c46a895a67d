-- The flows into call instances of TEMP TABLE near_part. A statement of its own: joins that run at once share the memory.
-- reads: dataflow_row
-- needs: TEMP TABLE near_part (as near_part.sql gives)
-- reader (a node), merged (1: of a stub instance merged into it), and of dataflow_row what its sums are made of
SELECT r.node AS reader, CASE WHEN r.call_id <> r.node THEN 1 ELSE 0 END AS merged, d.writer_call_id, d.writer_function_id, d.place_id,
       d.bytes, d.transfers, d.unique_bytes
FROM dataflow_row d JOIN near_part r ON r.call_id = d.reader_call_id;
