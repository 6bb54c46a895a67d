-- Dataflow between different functions by what it goes through.
-- reads: function_edge
-- writer_function_id, reader_function_id, via, bytes, unique_bytes (bytes where not known), addresses (0: not known)
SELECT writer_function_id, reader_function_id, coalesce(via, 'other') AS via, bytes, coalesce(unique_bytes, bytes) AS unique_bytes,
       coalesce(addresses, 0) AS addresses
FROM function_edge WHERE writer_function_id <> reader_function_id AND bytes IS NOT NULL;
