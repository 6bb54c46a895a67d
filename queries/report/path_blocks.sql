-- Blocks of a function with their lines, in the order of the file.
-- reads: path_block, path_block_line
-- param function INTEGER: function id
-- path_block_id, number, kind, executions, position, line (one row a line; one row with NULL positions where there is none)
SELECT b.path_block_id, b.number, b.kind, b.executions, l.position, l.line
FROM path_block b LEFT JOIN path_block_line l USING (path_block_id)
WHERE b.function_id = ?
ORDER BY b.path_block_id, l.position;
