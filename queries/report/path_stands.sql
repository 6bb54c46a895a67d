-- Blocks in which frames of a function stand, where that is sure.
-- reads: executed_path, executed_path_block, path_frame
-- duckdb-only: arg_max, which SQLite has not
-- param function INTEGER: function id
-- path_block_id, frame_id
SELECT arg_max(b.path_block_id, b.position) AS path_block_id, p.frame_id
FROM executed_path p JOIN path_frame f USING (frame_id) JOIN executed_path_block b USING (executed_path_id)
WHERE f.function_id = ? AND p.state <> 'finished' AND p.alternatives = 1
GROUP BY p.frame_id, p.executed_path_id
ORDER BY p.frame_id;
