-- Functions whose executed code differs between two values of a label among runs whose other labels are the same, or that only one of them runs.
-- theme: changes
-- reads: function, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: the same functions ran with the same code
WITH side AS (
    SELECT run_id, rest, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after, dense_rank() OVER (ORDER BY program, rest) AS context
    FROM label WHERE label = $1 AND (value = $2 OR value = $3)),
context AS (
    SELECT context FROM side GROUP BY context HAVING sum(1 - is_after) > 0 AND sum(is_after) > 0),
one AS (
    SELECT f.program, f.function, f.file, s.context, f.code_hash, min(s.rest) AS rest, min(s.is_after) AS first_side,
           max(s.is_after) AS last_side, min(f.code_bytes) AS code_bytes, max(f.steps_self) AS steps
    FROM function f JOIN side s ON s.run_id = f.run_id JOIN context x ON x.context = s.context
    WHERE f.code_hash IS NOT NULL AND ($5 = 'all' OR f.start_up = 0)
    GROUP BY f.program, f.function, f.file, s.context, f.code_hash),
total AS (
    SELECT program, function, file, context, min(rest) AS rest, sum(CASE WHEN first_side = 0 AND last_side = 1 THEN 1 ELSE 0 END) AS common,
           sum(CASE WHEN last_side = 0 THEN 1 ELSE 0 END) AS only_before, sum(CASE WHEN first_side = 1 THEN 1 ELSE 0 END) AS only_after,
           min(CASE WHEN first_side = 0 THEN code_bytes END) AS bytes_before, max(CASE WHEN last_side = 1 THEN code_bytes END) AS bytes_after,
           max(steps) AS steps
    FROM one GROUP BY program, function, file, context),
change AS (
    SELECT *, CASE WHEN common > 0 THEN 'same' WHEN only_after = 0 THEN 'gone' WHEN only_before = 0 THEN 'new' ELSE 'other code' END AS change
    FROM total),
whole AS (SELECT program, function, file, count(*) AS of_contexts FROM change GROUP BY program, function, file)
SELECT c.program, c.function, c.file, c.change, count(*) AS contexts, min(w.of_contexts) AS of_contexts, min(c.rest) AS first_context,
       min(c.bytes_before) AS bytes_before, max(c.bytes_after) AS bytes_after, max(c.steps) AS steps
FROM change c JOIN whole w ON w.program = c.program AND w.function = c.function AND w.file = c.file
WHERE c.change <> 'same'
GROUP BY c.program, c.function, c.file, c.change
ORDER BY max(c.steps) DESC NULLS LAST, c.program, c.function, c.file, c.change LIMIT $4
