-- Source lines whose steps changed between two values of a label; a line whose code is the same is the same wherever it moved.
-- theme: changes
-- reads: line, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param rows count = 20: rows at most, the largest changes first, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: every line takes the steps that it took, or no two runs of the two values have their other labels in common
WITH side AS (
    SELECT run_id, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after, dense_rank() OVER (ORDER BY program, rest) AS context
    FROM label WHERE label = $1 AND (value = $2 OR value = $3)),
context AS (
    SELECT context, sum(1 - is_after) AS before_runs, sum(is_after) AS after_runs FROM side GROUP BY context
    HAVING sum(1 - is_after) > 0 AND sum(is_after) > 0),
cell AS (
    SELECT l.line_key, s.context, min(CASE WHEN s.is_after = 0 THEN l.line END) AS line_before,
           min(CASE WHEN s.is_after = 1 THEN l.line END) AS line_after, CAST(sum(l.steps * (1 - s.is_after)) AS DOUBLE) AS before_sum,
           CAST(sum(l.steps * s.is_after) AS DOUBLE) AS after_sum
    FROM line l JOIN side s ON s.run_id = l.run_id
    WHERE $5 = 'all' OR l.start_up = 0 GROUP BY l.line_key, s.context),
total AS (
    SELECT c.line_key, min(c.line_before) AS line_before, min(c.line_after) AS line_after, sum(c.before_sum / x.before_runs) AS before,
           sum(c.after_sum / x.after_runs) AS after
    FROM cell c JOIN context x ON x.context = c.context GROUP BY c.line_key),
top AS (
    SELECT * FROM (SELECT *, row_number() OVER (ORDER BY abs(after - before) DESC, line_key) AS place FROM total WHERE after <> before) ranked
    WHERE place <= $4),
name AS (SELECT line_key, min(program) AS program, min(file) AS file, min(function) AS function FROM line
         WHERE line_key IN (SELECT line_key FROM top) GROUP BY line_key)
SELECT n.program, n.function, n.file, t.line_before, t.line_after, round(t.before, 1) AS before, round(t.after, 1) AS after
FROM top t JOIN name n ON n.line_key = t.line_key
ORDER BY abs(t.after - t.before) DESC, n.program, n.file, t.line_before NULLS FIRST, t.line_after NULLS FIRST, n.function
