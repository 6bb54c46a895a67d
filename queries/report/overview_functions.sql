-- Functions and pseudo-functions as the overview weighs them.
-- reads: function_symbol, function_profile, call_edge, image, source_file
-- function_id, name, kind (function, stub, pseudo ...), image (path), image_id, calls, steps_self, steps_total, file (source file, else image), owner (program, runtime, linker; NULL: not known), is_handler (of signals or exceptions)
SELECT s.function_id, s.name, s.kind, i.path AS image, s.image_id, coalesce(p.calls, 0) AS calls, coalesce(p.steps_self, 0) AS steps_self,
       coalesce(p.steps_total, 0) AS steps_total, coalesce(o.path, i.path) AS file, s.owner,
       s.function_id IN (SELECT callee_function_id FROM call_edge WHERE kind = 'signal') AS is_handler
FROM function_symbol s LEFT JOIN function_profile p ON p.function_id = s.function_id LEFT JOIN image i ON i.image_id = s.image_id
LEFT JOIN source_file o ON o.file_id = s.file_id
WHERE p.function_id IS NOT NULL OR s.kind = 'pseudo'
ORDER BY s.function_id;
