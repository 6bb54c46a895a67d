-- Edges of a function in the order of the file.
-- reads: path_edge
-- param function INTEGER: function id
-- source_block_id, target_block_id, restarts, increment, weight, executions
SELECT source_block_id, target_block_id, restarts, increment, weight, executions
FROM path_edge WHERE function_id = ?
ORDER BY path_edge_id;
