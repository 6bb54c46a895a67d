-- Dataflow between call instances as the overview weighs it, of a range of rows.
-- reads: dataflow_row
-- duckdb-only: goes by the numbers of its rows, from 0
-- param first BIGINT: first row
-- param last BIGINT: row behind the last
-- writer (call_id; negative: a pseudo-function; 0: the place's), reader_call_id, place_id, bytes (each written byte once where that is known)
SELECT coalesce(writer_call_id, -writer_function_id, 0) AS writer, reader_call_id, place_id, coalesce(unique_bytes, bytes) AS bytes
FROM dataflow_row WHERE rowid >= ?::BIGINT AND rowid < ?::BIGINT;
