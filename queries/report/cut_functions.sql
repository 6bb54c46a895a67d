-- Functions that a word of a set means: by name or FILE:NAME with * and ?, or all of a source file.
-- reads: function_symbol, function_name, source_name
-- param pattern VARCHAR: the word
-- function_id
SELECT DISTINCT f.function_id
FROM function_symbol f LEFT JOIN function_name n USING (function_id) LEFT JOIN source_name s ON s.file_id = f.file_id
WHERE f.kind <> 'pseudo' AND (f.name GLOB $1 OR n.name GLOB $1 OR s.name || ':' || f.name GLOB $1 OR s.name GLOB $1 OR s.path = $1)
ORDER BY 1;
