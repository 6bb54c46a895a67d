-- Functions that a word of a set means: all of a source file, or glob: with a pattern of names or FILE:NAME.
-- reads: function_symbol, function_name, source_name
-- param pattern VARCHAR: the word
-- function_id
SELECT DISTINCT f.function_id
FROM function_symbol f LEFT JOIN function_name n USING (function_id) LEFT JOIN source_name s ON s.file_id = f.file_id
CROSS JOIN (SELECT substr($1, 6) AS wanted, substr($1, 1, 5) = 'glob:' AS is_pattern) t
WHERE f.kind <> 'pseudo'
  AND (t.is_pattern AND (f.name GLOB t.wanted OR n.name GLOB t.wanted OR s.name || ':' || f.name GLOB t.wanted)
       OR s.name = $1 OR s.path = $1)
ORDER BY 1;
