-- Calls and data edges that only some values of a label have: which inputs take data another way.
-- theme: coverage
-- reads: measure, thing, label
-- param label value = input: label whose values are compared
-- param rows count = 20: rows at most, those that the fewest values have first, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: every call and edge is there for all values of that label
WITH place AS (
    SELECT run_id, program, value, dense_rank() OVER (ORDER BY value) AS number FROM label WHERE label = $1),
present AS (
    SELECT m.thing_key, p.number, count(*) AS runs, max(m.value) AS most
    FROM measure m JOIN place p ON p.run_id = m.run_id WHERE m.measure IN ('calls', 'bytes') AND m.value > 0
      AND m.thing_key IN (SELECT thing_key FROM thing WHERE $3 = 'all' OR start_up = 0)
    GROUP BY m.thing_key, p.number),
total AS (
    SELECT thing_key, count(*) AS has, min(number) AS first, max(number) AS last, CAST(sum(runs) AS BIGINT) AS runs, max(most) AS most
    FROM present GROUP BY thing_key),
value_name AS (SELECT DISTINCT number, value FROM place),
whole AS (SELECT program, count(DISTINCT number) AS of_values FROM place GROUP BY program)
SELECT n.measure, n.one, n.two, n.via, t.has, w.of_values, a.value AS first_value, b.value AS last_value, t.runs, t.most, n.is_local
FROM total t JOIN thing n ON n.thing_key = t.thing_key JOIN whole w ON w.program = n.program JOIN value_name a ON a.number = t.first
JOIN value_name b ON b.number = t.last
WHERE t.has < w.of_values
ORDER BY t.has, t.most DESC, n.measure, n.one, n.two, n.via, n.one_file, n.two_file LIMIT $2
