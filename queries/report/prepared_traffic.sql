-- Traffic by variable, where `addfg prepare` has stored it.
-- reads: memory_traffic
-- name, reads, read_bytes, writes, written_bytes, dead_bytes, touched, unique_read_bytes, first_read_bytes
SELECT name, reads, read_bytes, writes, written_bytes, dead_bytes, touched, unique_read_bytes, first_read_bytes FROM memory_traffic;
