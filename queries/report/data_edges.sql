-- Dataflow between different functions by what it goes through.
-- reads: function_edge
-- writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses, transfers
SELECT writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses, transfers
FROM function_edge WHERE writer_function_id <> reader_function_id
ORDER BY ALL;
