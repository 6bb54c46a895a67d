-- Parts of variables that are structures or arrays of them.
-- reads: variable_field
-- variable_id, name, start (bytes before it), size (bytes), stride (of an array: bytes of an element, else NULL)
SELECT variable_id, name, start, size, stride FROM variable_field ORDER BY variable_id, start;
