-- Global and static variables.
-- reads: variable
-- variable_id, name, address, size (bytes), image_id
SELECT variable_id, name, address, size, image_id FROM variable ORDER BY variable_id;
