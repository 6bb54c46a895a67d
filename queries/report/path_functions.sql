-- Functions whose control flow is known with its path numbers.
-- reads: path_function, function_symbol, path_block, path_edge, path_frame, executed_path
-- id, function, paths, blocks, edges, frames (stopped in it), finished (paths that they had run and still held), distinct (numbers of
-- these), position (where its description begins)
WITH block AS (SELECT function_id, count(*) AS n FROM path_block GROUP BY function_id),
edge AS (SELECT function_id, count(*) AS n FROM path_edge GROUP BY function_id),
frame AS (SELECT function_id, count(*) AS n FROM path_frame GROUP BY function_id),
run AS (
    SELECT f.function_id, count(*) AS n, count(DISTINCT p.number) AS numbers
    FROM executed_path p JOIN path_frame f USING (frame_id) WHERE p.state = 'finished' GROUP BY f.function_id)
SELECT f.function_id AS id, s.name AS function, f.paths, coalesce(block.n, 0) AS blocks, coalesce(edge.n, 0) AS edges,
       coalesce(frame.n, 0) AS frames, coalesce(run.n, 0) AS finished, coalesce(run.numbers, 0) AS "distinct", f.position
FROM path_function f JOIN function_symbol s USING (function_id) LEFT JOIN block USING (function_id) LEFT JOIN edge USING (function_id)
LEFT JOIN frame USING (function_id) LEFT JOIN run USING (function_id)
ORDER BY finished DESC, frames DESC, f.function_id;
