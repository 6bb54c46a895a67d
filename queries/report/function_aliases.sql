-- All names of all functions.
-- reads: function_name
-- function_id, name (in the symbol table)
SELECT function_id, name FROM function_name ORDER BY function_id, name;
