-- Functions by their steps over all runs: mean, and which share of all steps.
-- theme: the lake
-- reads: function, run, thing
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: no run knows steps
WITH total AS (
    SELECT function_key, count(*) AS runs, CAST(sum(steps_self) AS DOUBLE) AS steps, max(steps_self) AS most
    FROM function WHERE steps_self IS NOT NULL AND ($2 = 'all' OR start_up = 0) GROUP BY function_key),
whole AS (SELECT sum(steps) AS steps FROM total)
SELECT t.program, t.one AS function, t.one_file AS file, f.runs, round(f.steps / f.runs, 1) AS mean, f.most,
       round(100 * f.steps / w.steps, 1) AS percent
FROM total f CROSS JOIN whole w JOIN thing t ON t.thing_key = f.function_key
ORDER BY f.steps DESC, t.program, t.one, t.one_file LIMIT $1
