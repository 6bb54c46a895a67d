-- What changed between two values of a label beyond noise, compared only among runs whose other labels are the same.
-- theme: changes
-- reads: measure, thing, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param measure value = all: steps, calls, bytes, buffer or iterations (all: these); steps_total, written_bytes, dead_bytes or unique_bytes
-- param percent number = 1: least change in a context, in percent
-- param rows count = 20: rows of each measure at most, the largest changes first, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- param rate number = 5: expected false rows among those that are listed, in percent; 100: every difference is listed
-- none: nothing changed beyond noise
WITH side AS (
    SELECT run_id, program, rest, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after FROM label
    WHERE label = $1 AND (value = $2 OR value = $3)),
place AS (
    SELECT run_id, is_after, rest, dense_rank() OVER (ORDER BY program, rest) * 2 + is_after AS place,
           dense_rank() OVER (ORDER BY program, rest) AS context
    FROM side),
-- Logarithms of factorials, up to the number of runs.
fact AS (
    SELECT 0 AS n, CAST(0 AS DOUBLE) AS lf
    UNION ALL SELECT n, sum(ln(n)) OVER (ORDER BY n) FROM (SELECT row_number() OVER (ORDER BY run_id) AS n FROM side) numbered),
paired_context AS (
    SELECT context, min(rest) AS rest, sum(1 - is_after) AS before_runs, sum(is_after) AS after_runs FROM place GROUP BY context
    HAVING sum(1 - is_after) > 0 AND sum(is_after) > 0),
-- If nothing but chance decides which run is on which side, all of one side are above all of the other one in 1 of C(runs, before) cases.
context AS (
    SELECT x.*, round(t.lf - b.lf - a.lf, 6) AS rarity
    FROM paired_context x JOIN fact b ON b.n = x.before_runs JOIN fact a ON a.n = x.after_runs
    JOIN fact t ON t.n = x.before_runs + x.after_runs),
reach AS (
    SELECT CASE WHEN count(*) * min(2.5 * exp(-rarity * contexts)) * 100 <= $8 THEN 1 ELSE 0 END AS is_enough
    FROM (SELECT rarity, count(*) AS contexts FROM context GROUP BY rarity) designs),
cell AS (
    SELECT m.thing_key, p.place, count(*) AS runs, CAST(sum(m.value) AS DOUBLE) AS total, min(m.value) AS least, max(m.value) AS most
    FROM measure m JOIN place p ON p.run_id = m.run_id
    WHERE (m.measure = $4 OR ($4 = 'all' AND m.measure IN ('steps', 'calls', 'bytes', 'buffer', 'iterations')))
          AND m.thing_key IN (SELECT thing_key FROM thing WHERE $7 = 'all' OR start_up = 0)
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
    SELECT c.thing_key, x.rest, x.rarity, c.before_sum / x.before_runs AS before_mean, c.after_sum / x.after_runs AS after_mean,
           CASE WHEN c.before_n < x.before_runs THEN 0 ELSE c.before_least END AS before_least, coalesce(c.before_most, 0) AS before_most,
           CASE WHEN c.after_n < x.after_runs THEN 0 ELSE c.after_least END AS after_least, coalesce(c.after_most, 0) AS after_most,
           CASE WHEN x.before_runs < x.after_runs THEN x.before_runs ELSE x.after_runs END AS runs
    FROM pair c JOIN context x ON x.context = c.context),
judged AS (
    SELECT *, CASE WHEN before_least < before_most OR after_least < after_most OR before_least <> after_least THEN 1 ELSE 0 END AS is_varied,
           CASE WHEN after_least > before_most AND (after_mean - before_mean) * 100 >= $5 * before_mean THEN 1 ELSE 0 END AS is_grown,
           CASE WHEN before_least > after_most AND (before_mean - after_mean) * 100 >= $5 * before_mean THEN 1 ELSE 0 END AS is_shrunk
    FROM paired),
-- Of contexts with as many runs: in how many the figure differs at all, has grown, has shrunk.
counted AS (
    SELECT thing_key, rarity, sum(is_varied) AS varied, sum(is_grown) AS grown, sum(is_shrunk) AS shrunk,
           CASE WHEN sum(is_grown) > sum(is_shrunk) THEN sum(is_grown) ELSE sum(is_shrunk) END AS one_way, sum(is_grown) + sum(is_shrunk) AS any_way
    FROM judged GROUP BY thing_key, rarity HAVING sum(is_varied) > 0),
test AS (
    SELECT DISTINCT rarity, varied, one_way AS hits, 1 AS ways, exp(-rarity) AS chance FROM counted
    UNION ALL SELECT DISTINCT rarity, varied, any_way, 2, 2 * exp(-rarity) FROM counted),
-- How likely so many contexts or more agree by chance: the tail of a binomial distribution.
tail AS (
    SELECT t.rarity, t.varied, t.hits, t.ways,
           CASE WHEN t.hits = 0 OR t.chance > 0.999999 THEN 1.0
                ELSE sum(exp(n.lf - k.lf - r.lf + k.n * ln(t.chance) + (t.varied - k.n) * ln(CASE WHEN t.chance > 0.999999 THEN 0.5 ELSE 1 - t.chance END)))
                END AS p
    FROM test t JOIN fact n ON n.n = t.varied JOIN fact k ON k.n >= t.hits AND k.n <= t.varied JOIN fact r ON r.n = t.varied - k.n
    GROUP BY t.rarity, t.varied, t.hits, t.ways, t.chance),
-- Two tests share the rate: 4/5 for one direction everywhere, 1/5 for either direction in each context.
tested AS (
    SELECT c.thing_key, count(*) AS designs, min(CASE WHEN 2.5 * o.p < 5 * e.p THEN 2.5 * o.p ELSE 5 * e.p END) AS p
    FROM counted c
    JOIN tail o ON o.rarity = c.rarity AND o.varied = c.varied AND o.hits = c.one_way AND o.ways = 1
    JOIN tail e ON e.rarity = c.rarity AND e.varied = c.varied AND e.hits = c.any_way AND e.ways = 2
    GROUP BY c.thing_key),
-- Benjamini and Hochberg over all figures that differ at all between any two runs of a context.
placed AS (
    SELECT thing_key, CASE WHEN p * designs < 1 THEN p * designs ELSE 1.0 END AS p FROM tested),
stepped AS (SELECT thing_key, p, p * count(*) OVER () / count(*) OVER (ORDER BY p) AS q FROM placed),
false_rate AS (SELECT thing_key, p, min(q) OVER (ORDER BY p DESC) AS q FROM stepped),
total AS (
    SELECT thing_key, count(*) AS contexts, sum(is_grown) AS grown, sum(is_shrunk) AS shrunk, min(runs) AS runs,
           sum(before_mean) AS before, sum(after_mean) AS after,
           CASE WHEN sum(CASE WHEN is_grown = 1 AND before_mean = 0 THEN 1 ELSE 0 END) = 0
                THEN max(CASE WHEN is_grown = 1 AND before_mean > 0 THEN 100 * (after_mean - before_mean) / before_mean ELSE 0.0 END) END AS most_percent,
           min(CASE WHEN is_grown + is_shrunk > 0 THEN rest END) AS first_context,
           sum(before_most - before_least) + sum(after_most - after_least) AS noise
    FROM judged GROUP BY thing_key HAVING sum(is_grown) + sum(is_shrunk) > 0),
ranked AS (
    SELECT o.*, f.p, f.q, t.measure, t.one, t.two, t.via, t.one_file, t.two_file, t.is_local,
           CASE WHEN f.q * 100 <= $8 THEN 'yes' ELSE 'unknown' END AS beyond_noise,
           row_number() OVER (PARTITION BY t.measure ORDER BY abs(o.after - o.before) DESC, o.thing_key) AS place
    FROM total o JOIN thing t ON t.thing_key = o.thing_key JOIN false_rate f ON f.thing_key = o.thing_key CROSS JOIN reach r
    WHERE f.q * 100 <= $8 OR r.is_enough = 0 OR $8 >= 100)
SELECT r.measure, r.one, r.two, r.via, r.contexts, CAST(r.grown AS BIGINT) AS grown, CAST(r.shrunk AS BIGINT) AS shrunk,
       CAST(r.runs AS BIGINT) AS runs, round(r.before, 1) AS before, round(r.after, 1) AS after,
       CASE WHEN r.before > 0 THEN round(100 * (r.after - r.before) / r.before, 1) END AS percent,
       CASE WHEN r.before + r.after > 0 THEN round(100 * r.noise / (r.before + r.after), 1) END AS noise_percent, round(r.p, 6) AS p,
       r.beyond_noise, r.first_context, r.is_local, r.one_file, r.two_file, round(r.most_percent, 1) AS most_percent
FROM ranked r WHERE r.place <= $6
ORDER BY r.measure DESC, abs(r.after - r.before) DESC, r.one, r.two, r.via, r.one_file, r.two_file
