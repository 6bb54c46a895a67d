-- Files that the database was built from.
-- reads: input
-- input_id, role, path, format, size (bytes), options
SELECT input_id AS input, role, path, format, size, options FROM input ORDER BY input_id;
