-- Pseudo-functions that wrote bytes.
-- reads: function_symbol
-- function_id, name
SELECT function_id, name FROM function_symbol WHERE kind = 'pseudo' ORDER BY function_id;
