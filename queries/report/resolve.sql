-- Functions that a name may mean: as shown, any of its names in the symbol table, a C++ name without its parameters, file:name.
-- reads: function_symbol, function_name, source_name, function_profile
-- param text VARCHAR: the name
-- function_id, name, ran (it has steps or is a pseudo-function), exact (it is shown by this name)
SELECT DISTINCT s.function_id, s.name, (p.function_id IS NOT NULL OR s.kind = 'pseudo') AS ran, s.name = t.text AS exact
FROM (SELECT CAST(? AS VARCHAR) AS text) t, function_symbol s
LEFT JOIN function_name n ON n.function_id = s.function_id
LEFT JOIN source_name f ON f.file_id = s.file_id
LEFT JOIN function_profile p ON p.function_id = s.function_id
WHERE s.name = t.text OR n.name = t.text
   OR substr(s.name, 1, length(t.text) + 1) = t.text || '(' OR substr(s.name, 1, length(t.text) + 2) = t.text || ' ('
   -- FILE:NAME, with and without the folders of the file; of NAME what comes behind a parenthesis may be missing.
   OR t.text IN (f.name || ':' || s.name, f.name || ':' || n.name, f.name || ':' || s.symbol, f.path || ':' || s.name,
                 f.path || ':' || n.name, f.path || ':' || s.symbol)
   OR substr(f.name || ':' || s.name, 1, length(t.text) + 1) = t.text || '('
   OR substr(f.name || ':' || s.name, 1, length(t.text) + 2) = t.text || ' ('
   OR substr(f.path || ':' || s.name, 1, length(t.text) + 1) = t.text || '('
   OR substr(f.path || ':' || s.name, 1, length(t.text) + 2) = t.text || ' ('
ORDER BY 1, 2, 3, 4;
