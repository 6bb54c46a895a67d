-- Names and places of functions.
-- reads: function_symbol, source_file, image
-- function_id, name, file, image (paths)
SELECT s.function_id, s.name, f.path AS file, i.path AS image
FROM function_symbol s LEFT JOIN source_file f ON f.file_id = s.file_id LEFT JOIN image i ON i.image_id = s.image_id
ORDER BY s.function_id;
