-- Global and static variables.
-- reads: variable
-- variable_id, name, address, size (bytes)
SELECT variable_id, name, address, size FROM variable ORDER BY variable_id;
