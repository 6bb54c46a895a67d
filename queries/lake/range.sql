-- Least and most of each figure over the values of a label among runs whose other labels are the same, as the mean over the runs of a value; a value that lacks it counts as 0.
-- theme: trends
-- reads: measure, thing, label
-- param label value = input: label whose values are compared
-- param measure value = bytes: steps, calls, bytes, buffer or iterations (all: these); steps_total, written_bytes, dead_bytes or unique_bytes
-- param rows count = 20: rows at most, those with the largest figures, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: no run has that label, or none has such figures
WITH place AS (
    SELECT run_id, value, rest, dense_rank() OVER (ORDER BY program, rest) AS context, dense_rank() OVER (ORDER BY program, rest, value) AS number
    FROM label WHERE label = $1),
size AS (SELECT context, number, value, rest, count(*) AS runs FROM place GROUP BY context, number, value, rest),
cell AS (
    SELECT m.thing_key, p.number, CAST(sum(m.value) AS DOUBLE) AS total
    FROM measure m JOIN place p ON p.run_id = m.run_id
    WHERE (m.measure = $2 OR ($2 = 'all' AND m.measure IN ('steps', 'calls', 'bytes', 'buffer', 'iterations')))
          AND m.thing_key IN (SELECT thing_key FROM thing WHERE $4 = 'all' OR start_up = 0)
    GROUP BY m.thing_key, p.number),
mean AS (SELECT c.thing_key, s.context, s.value, c.total / s.runs AS mean FROM cell c JOIN size s ON s.number = c.number),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY thing_key, context ORDER BY mean, value) AS up,
           row_number() OVER (PARTITION BY thing_key, context ORDER BY mean DESC, value) AS down,
           count(*) OVER (PARTITION BY thing_key, context) AS has
    FROM mean),
bound AS (
    SELECT thing_key, context, max(has) AS has, max(CASE WHEN up = 1 THEN mean END) AS least, max(CASE WHEN up = 1 THEN value END) AS least_at,
           max(CASE WHEN down = 1 THEN mean END) AS most, max(CASE WHEN down = 1 THEN value END) AS most_at
    FROM ranked WHERE up = 1 OR down = 1 GROUP BY thing_key, context),
whole AS (SELECT context, rest, count(*) AS of_values FROM size GROUP BY context, rest)
SELECT t.program, t.measure, t.one, t.two, t.via, w.rest AS labels, b.has, w.of_values,
       round(CASE WHEN b.has < w.of_values THEN 0.0 ELSE b.least END, 1) AS least,
       CASE WHEN b.has < w.of_values THEN '' ELSE b.least_at END AS least_at, round(b.most, 1) AS most, b.most_at, t.is_local
FROM bound b JOIN whole w ON w.context = b.context JOIN thing t ON t.thing_key = b.thing_key
ORDER BY b.most DESC, t.measure, t.program, t.one, t.two, t.via, w.rest, t.one_file, t.two_file LIMIT $3
