-- The runs: where they come from, their size, and how many labels they have.
-- theme: the lake
-- reads: run, label
-- param rows count = 20: rows at most, 0 for all
-- none: the lake is empty
SELECT r.program, r.run, r.database, r.detail, r.steps, count(l.label) AS labels
FROM run r LEFT JOIN label l ON l.run_id = r.run_id
GROUP BY r.program, r.run, r.database, r.detail, r.steps ORDER BY r.program, r.run LIMIT $1
