-- Data flow between functions by what it goes through; stubs merged into their callers
-- reads: function_edge_folded, named
-- column edge_key BIGINT: The same in all runs: of program, writer, reader and via
-- column writer VARCHAR: Function that wrote, or where bytes come from that no step wrote (<input>, <image .data>)
-- column writer_file VARCHAR: Its source file without folders, empty if not known
-- column reader VARCHAR: Function that read
-- column reader_file VARCHAR: Its source file without folders, empty if not known
-- column via VARCHAR: register, stack, heap, global, constant, mmio, other; empty if not known
-- column start_up BIGINT: 1: neither does the program's own work, see function; what has no code counts for the other
-- column bytes BIGINT: Bytes read, each read counted; NULL where the trace has dependences without sizes
-- column unique_bytes BIGINT: Distinct (byte, write) pairs per reading instance, summed; NULL where functions were merged
-- column addresses BIGINT: Distinct bytes of storage; NULL where functions were merged
-- column transfers BIGINT: Distinct (write access, read access) pairs
SELECT lake_key('data', w.function, w.file, r.function, r.file, coalesce(e.via, '')) AS edge_key, w.function AS writer,
       w.file AS writer_file, r.function AS reader, r.file AS reader_file, coalesce(e.via, '') AS via,
       CAST(min(CASE WHEN w.kind = 'pseudo' AND r.kind = 'pseudo' THEN 0 WHEN w.kind = 'pseudo' THEN r.start_up
                     WHEN r.kind = 'pseudo' THEN w.start_up WHEN w.start_up = 1 AND r.start_up = 1 THEN 1 ELSE 0 END) AS BIGINT) AS start_up,
       CAST(sum(e.bytes) AS BIGINT) AS bytes,
       CASE WHEN count(*) = 1 THEN any_value(e.unique_bytes) END AS unique_bytes,
       CASE WHEN count(*) = 1 THEN any_value(e.addresses) END AS addresses, CAST(sum(e.transfers) AS BIGINT) AS transfers
FROM function_edge_folded e JOIN named w ON w.function_id = e.writer_function_id JOIN named r ON r.function_id = e.reader_function_id
GROUP BY w.function, w.file, r.function, r.file, e.via ORDER BY edge_key
