-- How often frames of a function hold each finished path.
-- reads: executed_path, path_frame
-- param function INTEGER: function id
-- number, count
SELECT p.number, count(*) AS count
FROM executed_path p JOIN path_frame f USING (frame_id)
WHERE f.function_id = ? AND p.state = 'finished'
GROUP BY p.number
ORDER BY 1, 2;
