-- Functions that ran, and pseudo-functions.
-- reads: function_symbol, function_profile, source_file, image
-- function_id, name, kind (function, stub, unknown, pseudo ...), file, image (paths), calls, steps_self, steps_total (inclusive, recursion
-- counted once)
SELECT s.function_id, s.name, s.kind, f.path AS file, i.path AS image, coalesce(p.calls, 0) AS calls, p.steps_self, p.steps_total
FROM function_symbol s
LEFT JOIN function_profile p ON p.function_id = s.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id
LEFT JOIN image i ON i.image_id = s.image_id
WHERE p.function_id IS NOT NULL OR s.kind = 'pseudo';
