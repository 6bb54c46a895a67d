-- Edges of path tracing as edges of the control-flow graph.
-- reads: path_edge
-- as the table cfg_edge; cfg_edge_id is path_edge_id
SELECT path_edge_id, NULL, 1, source_block_id, target_block_id, 'unknown', CASE WHEN restarts THEN '~>' ELSE '->' END, executions
FROM path_edge
ORDER BY path_edge_id;
