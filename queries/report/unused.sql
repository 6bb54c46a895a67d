-- What functions write to memory in vain.
-- reads: function_profile, function_symbol, function_edge
-- param limit BIGINT: rows at most
-- function, written_bytes, dead_bytes (overwritten or left unread), dead (share), read_by_nobody_else (bytes: read by itself only)
SELECT s.name AS function, p.written_bytes, p.dead_bytes, printf('%.1f %%', 100.0 * p.dead_bytes / p.written_bytes) AS dead,
       (NOT EXISTS (SELECT 1 FROM function_edge e WHERE e.writer_function_id = p.function_id AND e.reader_function_id <> p.function_id
                    AND e.via <> 'register')) AS only_own
FROM function_profile p JOIN function_symbol s USING (function_id)
WHERE p.written_bytes > 0
ORDER BY p.dead_bytes DESC, p.written_bytes DESC, s.function_id LIMIT $1;
