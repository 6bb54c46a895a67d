-- Least and most of each figure over the values of a label, as the mean over the runs of a value; a value that lacks it counts as 0.
-- theme: trends
-- reads: measure, thing, label
-- param label value = input: label whose values are compared
-- param measure value = bytes: steps, calls, bytes, buffer or iterations
-- param rows count = 20: rows at most, those with the largest figures, 0 for all
-- none: no run has that label, or none has such figures
WITH place AS (
    SELECT run_id, value, dense_rank() OVER (ORDER BY value) AS number FROM label WHERE label = $1),
size AS (SELECT number, value, count(*) AS runs FROM place GROUP BY number, value),
cell AS (
    SELECT m.thing_key, p.number, CAST(sum(m.value) AS DOUBLE) AS total
    FROM measure m JOIN place p ON p.run_id = m.run_id WHERE $2 = 'all' OR m.measure = $2
    GROUP BY m.thing_key, p.number),
mean AS (SELECT c.thing_key, s.value, c.total / s.runs AS mean FROM cell c JOIN size s ON s.number = c.number),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY thing_key ORDER BY mean, value) AS up,
           row_number() OVER (PARTITION BY thing_key ORDER BY mean DESC, value) AS down,
           count(*) OVER (PARTITION BY thing_key) AS has
    FROM mean),
bound AS (
    SELECT thing_key, max(has) AS has, max(CASE WHEN up = 1 THEN mean END) AS least, max(CASE WHEN up = 1 THEN value END) AS least_at,
           max(CASE WHEN down = 1 THEN mean END) AS most, max(CASE WHEN down = 1 THEN value END) AS most_at
    FROM ranked WHERE up = 1 OR down = 1 GROUP BY thing_key),
whole AS (SELECT count(*) AS of_values FROM size)
SELECT t.measure, t.one, t.two, t.via, b.has, w.of_values, round(CASE WHEN b.has < w.of_values THEN 0.0 ELSE b.least END, 1) AS least,
       CASE WHEN b.has < w.of_values THEN '' ELSE b.least_at END AS least_at, round(b.most, 1) AS most, b.most_at
FROM bound b CROSS JOIN whole w JOIN thing t ON t.thing_key = b.thing_key
WHERE NOT t.is_local
ORDER BY b.most DESC, t.measure, t.one, t.two, t.via, t.one_file, t.two_file LIMIT $3
