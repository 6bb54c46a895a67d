-- Blocks of path tracing as basic blocks: of these the format has numbers and lines, no addresses.
-- reads: path_block, path_block_line, function_symbol
-- as the table basic_block; basic_block_id is path_block_id
SELECT b.path_block_id, CASE b.kind WHEN 'exit' THEN 'end' ELSE 'block' END, b.number, 1, s.image_id, b.function_id, NULL, NULL, NULL,
       NULL, s.file_id,
       (SELECT arg_min(l.line, l.position) FROM path_block_line l WHERE l.path_block_id = b.path_block_id AND l.line IS NOT NULL),
       b.executions, NULL
FROM path_block b JOIN function_symbol s USING (function_id)
ORDER BY b.path_block_id;
