-- Data between functions through global and static variables.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: no function reads from a global variable what another wrote
SELECT writer, reader, bytes, unique_bytes, addresses, transfers
FROM function_dataflow WHERE via = 'global' AND writer_function_id <> reader_function_id
ORDER BY bytes DESC NULLS LAST, writer, reader LIMIT $1;
