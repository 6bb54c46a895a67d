-- What changed between two values of a label beyond noise, compared only among runs whose other labels are the same.
-- theme: changes
-- reads: measure, thing, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param measure value = all: steps, calls, bytes, buffer or iterations
-- param percent number = 1: least change, in percent
-- param rows count = 20: rows of each measure at most, the largest changes first, 0 for all
-- none: nothing changed beyond noise, or no two runs of the two values have their other labels in common
WITH side AS (
    SELECT run_id, rest, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after FROM label
    WHERE label = $1 AND (value = $2 OR value = $3)),
place AS (SELECT run_id, is_after, dense_rank() OVER (ORDER BY rest) * 2 + is_after AS place, dense_rank() OVER (ORDER BY rest) AS context FROM side),
context AS (
    SELECT context, sum(1 - is_after) AS before_runs, sum(is_after) AS after_runs FROM place GROUP BY context
    HAVING sum(1 - is_after) > 0 AND sum(is_after) > 0),
cell AS (
    SELECT m.thing_key, p.place, count(*) AS runs, CAST(sum(m.value) AS DOUBLE) AS total, min(m.value) AS least, max(m.value) AS most
    FROM measure m JOIN place p ON p.run_id = m.run_id WHERE $4 = 'all' OR m.measure = $4
    GROUP BY m.thing_key, p.place),
where_it_is AS (SELECT DISTINCT place, context, is_after FROM place),
pair AS (
    SELECT c.thing_key, w.context, sum((1 - w.is_after) * c.runs) AS before_n, sum(w.is_after * c.runs) AS after_n,
           sum((1 - w.is_after) * c.total) AS before_sum, sum(w.is_after * c.total) AS after_sum,
           min(CASE WHEN w.is_after = 0 THEN c.least END) AS before_least, max(CASE WHEN w.is_after = 0 THEN c.most END) AS before_most,
           min(CASE WHEN w.is_after = 1 THEN c.least END) AS after_least, max(CASE WHEN w.is_after = 1 THEN c.most END) AS after_most
    FROM cell c JOIN where_it_is w ON w.place = c.place GROUP BY c.thing_key, w.context),
-- A run without the figure has 0 of it.
paired AS (
    SELECT c.thing_key, c.before_sum / x.before_runs AS before_mean, c.after_sum / x.after_runs AS after_mean,
           CASE WHEN c.before_n < x.before_runs THEN 0 ELSE c.before_least END AS before_least, coalesce(c.before_most, 0) AS before_most,
           CASE WHEN c.after_n < x.after_runs THEN 0 ELSE c.after_least END AS after_least, coalesce(c.after_most, 0) AS after_most,
           CASE WHEN x.before_runs < x.after_runs THEN x.before_runs ELSE x.after_runs END AS runs
    FROM pair c JOIN context x ON x.context = c.context),
-- Beyond noise: between the two ranges is a gap that is wider than each of them.
judged AS (
    SELECT *, CASE WHEN after_least > before_most AND after_least - before_most > before_most - before_least
                        AND after_least - before_most > after_most - after_least THEN 1 ELSE 0 END AS is_grown,
           CASE WHEN before_least > after_most AND before_least - after_most > before_most - before_least
                     AND before_least - after_most > after_most - after_least THEN 1 ELSE 0 END AS is_shrunk
    FROM paired),
total AS (
    SELECT thing_key, count(*) AS contexts, sum(is_grown) AS grown, sum(is_shrunk) AS shrunk, min(runs) AS runs,
           sum(before_mean) AS before, sum(after_mean) AS after,
           sum(before_most - before_least) + sum(after_most - after_least) AS noise
    FROM judged GROUP BY thing_key HAVING sum(is_grown) + sum(is_shrunk) > 0),
ranked AS (
    SELECT o.*, t.measure, t.one, t.two, t.via, t.one_file, t.two_file,
           row_number() OVER (PARTITION BY t.measure ORDER BY abs(o.after - o.before) DESC, o.thing_key) AS place
    FROM total o JOIN thing t ON t.thing_key = o.thing_key
    WHERE abs(o.after - o.before) * 100 >= $5 * o.before AND NOT t.is_local)
SELECT r.measure, r.one, r.two, r.via, r.contexts, CAST(r.grown AS BIGINT) AS grown, CAST(r.shrunk AS BIGINT) AS shrunk,
       CAST(r.runs AS BIGINT) AS runs, round(r.before, 1) AS before, round(r.after, 1) AS after,
       CASE WHEN r.before > 0 THEN round(100 * (r.after - r.before) / r.before, 1) END AS percent,
       round(100 * r.noise / (r.before + r.after), 1) AS noise_percent
FROM ranked r WHERE r.place <= $6
ORDER BY r.measure DESC, abs(r.after - r.before) DESC, r.one, r.two, r.via, r.one_file, r.two_file
