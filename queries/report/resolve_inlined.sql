-- Inlined functions whose names contain $1, with the functions that they are part of.
SELECT DISTINCT c.name, f.name AS function FROM inlined_call c JOIN function_symbol f ON f.function_id = c.function_id
WHERE contains(c.name, $1) ORDER BY ALL;
