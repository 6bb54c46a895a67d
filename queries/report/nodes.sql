-- Functions that ran, with their share of the run.
-- reads: function_symbol, function_profile, function_edge, source_file
-- function_id, name, kind, file, calls, steps_self, steps_total (inclusive, recursion counted once), local_bytes (from itself to itself)
SELECT s.function_id, s.name, s.kind, f.path, p.calls, p.steps_self, p.steps_total,
       coalesce((SELECT sum(e.bytes) FROM function_edge e
                 WHERE e.writer_function_id = s.function_id AND e.reader_function_id = s.function_id), 0)::BIGINT
FROM function_symbol s
LEFT JOIN function_profile p ON p.function_id = s.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id
WHERE p.function_id IS NOT NULL OR s.kind = 'pseudo'
ORDER BY s.function_id;
