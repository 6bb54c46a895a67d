-- Nodes of a recorded control-flow graph, in order.
-- reads: basic_block
-- block (its number), kind (block, start, end, unknown), image_id (0: none), function_id, address, size, last_address (of its last
-- instruction), instructions
SELECT basic_block_id AS block, kind, coalesce(image_id, 0) AS image_id, function_id, address, CAST(size AS BIGINT) AS size, last_address,
       CAST(instructions AS BIGINT) AS instructions
FROM basic_block ORDER BY basic_block_id;
