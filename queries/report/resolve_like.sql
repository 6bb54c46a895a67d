-- Names like a name that no function has, those that ran with the most steps first.
-- reads: function_symbol, function_profile
-- duckdb-only: jaro_winkler_similarity
-- param text VARCHAR: the name
-- name
SELECT s.name
FROM (SELECT ?::VARCHAR AS text) t, function_symbol s JOIN function_profile p ON p.function_id = s.function_id
WHERE contains(lower(s.name), lower(t.text)) OR jaro_winkler_similarity(lower(s.name), lower(t.text)) > 0.88
ORDER BY contains(lower(s.name), lower(t.text)) DESC, p.steps_self DESC, s.function_id
LIMIT 5;
