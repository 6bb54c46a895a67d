-- A function by its name, and whether it ran.
-- reads: function_symbol, function_profile
-- param function INTEGER: function id
-- name, ran (it has steps or is a pseudo-function)
SELECT s.name, s.kind = 'pseudo' OR EXISTS (SELECT 1 FROM function_profile p WHERE p.function_id = s.function_id) AS ran
FROM function_symbol s
WHERE s.function_id = ?;
