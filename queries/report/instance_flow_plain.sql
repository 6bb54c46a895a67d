-- Dataflow between nodes of the instance level where nothing is merged: call instances, and pseudo-functions as the negative of their id.
-- reads: dataflow
-- writer, reader (nodes), via, bytes, transfers, unique_bytes (bytes)
SELECT coalesce(writer_call_id, -writer_function_id) AS writer, reader_call_id AS reader, via, bytes, transfers, unique_bytes
FROM dataflow;
