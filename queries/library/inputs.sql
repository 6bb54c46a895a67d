-- Where data comes from that no step wrote (files, arguments, constants), and who reads it.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: the trace has no data
SELECT d.writer AS source, d.reader, d.via, d.bytes, d.addresses, d.transfers
FROM function_dataflow d JOIN function_symbol w ON w.function_id = d.writer_function_id
WHERE w.kind = 'pseudo' ORDER BY d.bytes DESC NULLS LAST, d.writer, d.reader, d.via LIMIT $1;
