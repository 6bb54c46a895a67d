-- Inlined functions with a text in their names, and the functions that they are part of.
-- reads: inlined_call, function_symbol
-- param text VARCHAR: the text
-- name, function
SELECT DISTINCT c.name, f.name AS function FROM inlined_call c JOIN function_symbol f ON f.function_id = c.function_id
WHERE instr(c.name, CAST(? AS VARCHAR)) > 0 ORDER BY c.name, f.name;
