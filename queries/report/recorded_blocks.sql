-- Basic blocks of a control-flow graph that was recorded without its program.
-- reads: basic_block, image, function_symbol, source_file
-- block (number of the block), function_id, function (name), image (path), bias, address, file (path), line, instructions, executions
SELECT b.basic_block_id AS block, b.function_id, s.name AS function, i.path AS image, i.bias, b.address, f.path AS file, b.line,
       b.instructions, b.executions
FROM basic_block b
LEFT JOIN image i ON i.image_id = b.image_id
LEFT JOIN function_symbol s ON s.function_id = b.function_id
LEFT JOIN source_file f ON f.file_id = b.file_id
WHERE b.kind = 'block' AND b.address IS NOT NULL AND b.function_id IS NOT NULL;
