-- Functions with a text in their names.
-- reads: function_symbol, function_profile
-- param text VARCHAR: the text
-- function_id, name, ran (it has steps), exact (false: it is shown by another name)
SELECT s.function_id, s.name, p.function_id IS NOT NULL AS ran, 1 = 0 AS exact
FROM function_symbol s LEFT JOIN function_profile p ON p.function_id = s.function_id
WHERE instr(s.name, CAST(? AS VARCHAR)) > 0 AND s.kind <> 'pseudo'
ORDER BY s.function_id;
