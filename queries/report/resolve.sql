-- Functions that a name may mean: as shown, any of its names in the symbol table, a C++ name without its parameters, file:name.
-- reads: function_symbol, function_name, source_file, function_profile
-- param text VARCHAR: the name
-- function_id, name, ran (it has steps or is a pseudo-function), exact (it is shown by this name)
SELECT DISTINCT s.function_id, s.name, (p.function_id IS NOT NULL OR s.kind = 'pseudo') AS ran, s.name = t.text AS exact
FROM (SELECT ?::VARCHAR AS text) t, function_symbol s
LEFT JOIN function_name n ON n.function_id = s.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id
LEFT JOIN function_profile p ON p.function_id = s.function_id
WHERE s.name = t.text OR n.name = t.text OR starts_with(s.name, t.text || '(') OR starts_with(s.name, t.text || ' (')
   OR (f.path IS NOT NULL AND starts_with(t.text, parse_filename(f.path) || ':')
       AND t.text[length(parse_filename(f.path)) + 2:] IN (s.name, n.name, s.symbol, split_part(s.name, '(', 1), split_part(s.name, ' (', 1)))
   OR (f.path IS NOT NULL AND starts_with(t.text, f.path || ':')
       AND t.text[length(f.path) + 2:] IN (s.name, n.name, s.symbol, split_part(s.name, '(', 1), split_part(s.name, ' (', 1)))
ORDER BY ALL;
