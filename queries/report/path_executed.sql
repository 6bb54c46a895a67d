-- Paths that the frames of a function had run, oldest first; several with one number of order are alternatives.
-- reads: executed_path, path_frame, executed_path_block, path_block, executed_path_line
-- param function INTEGER: function id
-- param limit BIGINT: rows at most
-- frame, at (line of the frame), path (order in the frame), state, alternatives, number, blocks, lines (without repetitions), ends
WITH here AS (SELECT p.*, f.line AS at FROM executed_path p JOIN path_frame f USING (frame_id) WHERE f.function_id = $1),
block AS (
    SELECT b.executed_path_id, string_agg(CAST(p.number AS VARCHAR), ' ' ORDER BY b.position) AS blocks
    FROM executed_path_block b JOIN here USING (executed_path_id) JOIN path_block p USING (path_block_id)
    GROUP BY executed_path_id),
line AS (
    SELECT executed_path_id, position, line_position, l.line,
           lag(l.line) OVER (PARTITION BY executed_path_id ORDER BY position, line_position) AS before
    FROM executed_path_line l JOIN here USING (executed_path_id)),
lines AS (
    SELECT executed_path_id, string_agg(CAST(line AS VARCHAR), ' ' ORDER BY position, line_position) AS lines
    FROM line WHERE line IS DISTINCT FROM before GROUP BY executed_path_id)
SELECT h.frame_id AS frame, h.at, h.ordinal AS path, h.state, h.alternatives, h.number, block.blocks, lines.lines,
       CASE WHEN h.state <> 'finished' THEN NULL WHEN h.ends_at_exit THEN 'exit' WHEN h.end_edge_id IS NOT NULL THEN 'restart' END AS ends
FROM here h LEFT JOIN block USING (executed_path_id) LEFT JOIN lines USING (executed_path_id)
ORDER BY h.executed_path_id
LIMIT $2;
