-- Dataflow by writing function, reading function and what it goes through; a function's own traffic included, stubs merged into their callers.
-- reads: function_edge_folded
-- writer_function_id, reader_function_id, via, bytes, unique_bytes (bytes), addresses (distinct cells), transfers
SELECT writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses, transfers
FROM function_edge_folded;
