-- Which functions use which objects, where `addfg prepare` has stored it.
-- reads: object_use
-- object, field (NULL: all of it), address, size, function_id, reads, read_bytes, writes, written_bytes, unique_bytes, dead_bytes, first_seq,
-- last_seq
SELECT object, field, address, size, function_id, reads, read_bytes, writes, written_bytes, unique_bytes, dead_bytes, first_seq, last_seq
FROM object_use;
