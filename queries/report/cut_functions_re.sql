-- Functions whose name, or FILE:NAME, a regular expression fits.
-- reads: function_symbol, function_name, source_name
-- duckdb-only: regexp_matches
-- param pattern VARCHAR: the regular expression
-- function_id
SELECT DISTINCT f.function_id
FROM function_symbol f LEFT JOIN function_name n USING (function_id) LEFT JOIN source_name s ON s.file_id = f.file_id
WHERE f.kind <> 'pseudo'
  AND (regexp_matches(f.name, $1) OR regexp_matches(n.name, $1) OR regexp_matches(coalesce(s.name || ':' || f.name, ''), $1))
ORDER BY 1;
