-- How figures that change grow with a label that is a number: exponent of the log-log fit, and which of 1, log n, sqrt(n), n, n log n, n^1.5, n^2, n^3 ... fits best.
-- theme: trends
-- reads: measure, thing, label
-- param label value = size: label that says how large the input is
-- param measure value = all: steps, calls, bytes, buffer or iterations (all: these); steps_total, written_bytes, dead_bytes or unique_bytes
-- param rows count = 20: rows at most, those with the largest figures, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: nothing grows, or no runs have two different numbers above 1 in that label; addfg collect --label size=N sets it
WITH point AS (
    SELECT run_id, rest, number, dense_rank() OVER (ORDER BY rest, number) AS point FROM label WHERE label = $1 AND number > 1),
place AS (
    SELECT DISTINCT point, dense_rank() OVER (ORDER BY rest) AS context, rest, number, ln(number) AS x, ln(ln(number)) AS z FROM point),
context AS (SELECT DISTINCT context, rest FROM place),
cell AS (
    SELECT m.thing_key, p.point, count(*) AS runs, min(m.value) AS least, max(m.value) AS most, sum(ln(m.value)) AS y,
           sum(ln(m.value) * ln(m.value)) AS yy
    FROM measure m JOIN point p ON p.run_id = m.run_id
    WHERE m.value > 0 AND (m.measure = $2 OR ($2 = 'all' AND m.measure IN ('steps', 'calls', 'bytes', 'buffer', 'iterations')))
          AND m.thing_key IN (SELECT thing_key FROM thing WHERE $4 = 'all' OR start_up = 0)
    GROUP BY m.thing_key, p.point),
-- Means of squares and products over the runs; z is what log n adds to n.
moment AS (
    SELECT c.thing_key, p.context, CAST(sum(c.runs) AS BIGINT) AS runs, min(p.number) AS smallest, max(p.number) AS largest,
           min(c.least) AS least, max(c.most) AS most, sum(c.runs * p.x) / sum(c.runs) AS ax, sum(c.runs * p.z) / sum(c.runs) AS az,
           sum(c.y) / sum(c.runs) AS ay, sum(c.runs * p.x * p.x) / sum(c.runs) AS axx, sum(c.runs * p.z * p.z) / sum(c.runs) AS azz,
           sum(c.yy) / sum(c.runs) AS ayy, sum(c.y * p.x) / sum(c.runs) AS axy, sum(c.y * p.z) / sum(c.runs) AS azy,
           sum(c.runs * p.x * p.z) / sum(c.runs) AS axz
    FROM cell c JOIN place p ON p.point = c.point GROUP BY c.thing_key, p.context),
top AS (
    SELECT * FROM (
        SELECT m.*, t.measure, t.one, t.two, t.via, t.one_file, t.two_file, t.is_local,
               row_number() OVER (ORDER BY m.most DESC, m.thing_key, m.context) AS place
        FROM moment m JOIN thing t ON t.thing_key = m.thing_key
        WHERE m.largest > m.smallest AND m.most > m.least) ranked
    WHERE place <= $3),
spread AS (
    SELECT *, axx - ax * ax AS vx, azz - az * az AS vz, CASE WHEN ayy - ay * ay > 1e-12 THEN ayy - ay * ay ELSE 0.0 END AS vy,
           axy - ax * ay AS cxy, azy - az * ay AS czy, axz - ax * az AS cxz
    FROM top),
model AS (
    SELECT * FROM (VALUES (0.0, 0, '1'), (0.0, 1, 'log n'), (0.5, 0, 'sqrt(n)'), (1.0, 0, 'n'), (1.0, 1, 'n log n'), (1.5, 0, 'n^1.5'), (2.0, 0, 'n^2'),
                          (2.0, 1, 'n^2 log n'), (3.0, 0, 'n^3'), (4.0, 0, 'n^4')) AS known(p, q, name)),
-- Each model has one free factor: what is left is how far the figures are from it.
fit AS (
    SELECT s.thing_key, s.context, m.name, m.p, m.q,
           round(s.vy + m.p * m.p * s.vx + m.q * m.q * s.vz - 2 * m.p * s.cxy - 2 * m.q * s.czy + 2 * m.p * m.q * s.cxz, 10) AS off
    FROM spread s CROSS JOIN model m),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY thing_key, context ORDER BY off, p, q) AS place FROM fit),
best AS (
    SELECT thing_key, context, max(CASE WHEN place = 1 THEN name END) AS first_name, max(CASE WHEN place = 1 THEN off END) AS first_off,
           max(CASE WHEN place = 2 THEN name END) AS second_name, max(CASE WHEN place = 2 THEN off END) AS second_off
    FROM ranked WHERE place <= 2 GROUP BY thing_key, context)
SELECT s.measure, s.one, s.two, s.via, c.rest AS labels, s.runs, s.smallest, s.largest, round(s.cxy / s.vx, 3) AS exponent,
       round(CASE WHEN s.vy = 0 THEN 1.0 ELSE s.cxy * s.cxy / (s.vx * s.vy) END, 4) AS r2,
       -- Clear where the next model leaves twice as much, the sizes reach far enough, and neither is far off.
       CASE WHEN s.runs < 4 OR s.largest < 4 * s.smallest OR b.first_off > 0.04 THEN 'unclear'
            WHEN b.second_off < 4 * b.first_off OR b.second_off < 1e-6 THEN concat(b.first_name, ' or ', b.second_name)
            ELSE b.first_name END AS growth,
       round(100 * (exp(sqrt(CASE WHEN b.first_off > 0 THEN b.first_off ELSE 0.0 END)) - 1), 1) AS off_percent, s.most, s.is_local
FROM spread s JOIN best b ON b.thing_key = s.thing_key AND b.context = s.context
JOIN context c ON c.context = s.context
ORDER BY s.most DESC, s.measure, s.one, s.two, s.via, c.rest, s.one_file, s.two_file
