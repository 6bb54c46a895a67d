-- Dataflow between calling contexts.
-- reads: stack_edge
-- writer_stack_id, reader_stack_id (NULL: none), writer_function_id, reader_function_id, via, bytes, unique_bytes (bytes where not known)
SELECT writer_stack_id, reader_stack_id, writer_function_id, reader_function_id, via, bytes, coalesce(unique_bytes, bytes) AS unique_bytes
FROM stack_edge;
