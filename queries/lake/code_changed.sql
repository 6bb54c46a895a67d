-- Functions whose executed code differs between two values of a label, or that only one of them runs.
-- theme: changes
-- reads: function, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param rows count = 20: rows at most, 0 for all
-- none: the same functions ran with the same code, or no run has that label
WITH side AS (
    SELECT run_id, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after FROM label WHERE label = $1 AND (value = $2 OR value = $3)),
one AS (
    SELECT f.program, f.function, f.file, f.code_hash, min(s.is_after) AS first_side, max(s.is_after) AS last_side,
           min(f.code_bytes) AS code_bytes, max(f.steps_self) AS steps
    FROM function f JOIN side s ON s.run_id = f.run_id WHERE f.code_hash IS NOT NULL
    GROUP BY f.program, f.function, f.file, f.code_hash),
total AS (
    SELECT program, function, file, sum(CASE WHEN first_side = 0 AND last_side = 1 THEN 1 ELSE 0 END) AS common,
           sum(CASE WHEN last_side = 0 THEN 1 ELSE 0 END) AS only_before, sum(CASE WHEN first_side = 1 THEN 1 ELSE 0 END) AS only_after,
           min(CASE WHEN first_side = 0 THEN code_bytes END) AS bytes_before, max(CASE WHEN last_side = 1 THEN code_bytes END) AS bytes_after,
           max(steps) AS steps
    FROM one GROUP BY program, function, file)
SELECT program, function, file,
       CASE WHEN common + only_after = 0 THEN 'gone' WHEN common + only_before = 0 THEN 'new' ELSE 'other code' END AS change, bytes_before,
       bytes_after, steps
FROM total WHERE common = 0
ORDER BY steps DESC NULLS LAST, program, function, file LIMIT $4
