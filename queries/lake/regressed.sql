-- Functions whose traffic with others grew between two values of a label: bytes read of others and written for others; what a function wrote and read itself apart.
-- theme: changes
-- reads: edge, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- param percent number = 1: least growth, in percent
-- param rows count = 20: rows at most, the largest growth first, 0 for all
-- param whose program or all = program: program leaves out start-up, end, the dynamic linker and stubs; or all
-- none: no function's traffic grew, or no two runs of the two values have their other labels in common
WITH side AS (
    SELECT run_id, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after, dense_rank() OVER (ORDER BY program, rest) AS context
    FROM label WHERE label = $1 AND (value = $2 OR value = $3)),
context AS (
    SELECT context, sum(1 - is_after) AS before_runs, sum(is_after) AS after_runs FROM side GROUP BY context
    HAVING sum(1 - is_after) > 0 AND sum(is_after) > 0),
cell AS (
    SELECT e.edge_key, s.context, CAST(sum(e.bytes * (1 - s.is_after)) AS DOUBLE) AS before_sum,
           CAST(sum(e.bytes * s.is_after) AS DOUBLE) AS after_sum
    FROM edge e JOIN side s ON s.run_id = e.run_id
    WHERE $6 = 'all' OR e.start_up = 0 GROUP BY e.edge_key, s.context),
flow AS (
    SELECT c.edge_key, sum(c.before_sum / x.before_runs) AS before, sum(c.after_sum / x.after_runs) AS after
    FROM cell c JOIN context x ON x.context = c.context GROUP BY c.edge_key),
named AS (
    SELECT t.program, t.one, t.one_file, t.two, t.two_file, t.is_local, f.before, f.after FROM flow f JOIN thing t ON t.thing_key = f.edge_key),
traffic AS (
    SELECT program, one AS function, one_file AS file, 0.0 AS in_before, 0.0 AS in_after, before AS out_before, after AS out_after,
           0.0 AS own_before, 0.0 AS own_after FROM named WHERE NOT is_local
    UNION ALL SELECT program, two, two_file, before, after, 0.0, 0.0, 0.0, 0.0 FROM named WHERE NOT is_local
    UNION ALL SELECT program, one, one_file, 0.0, 0.0, 0.0, 0.0, before, after FROM named WHERE is_local),
total AS (
    SELECT program, function, file, sum(in_before) AS in_before, sum(in_after) AS in_after, sum(out_before) AS out_before,
           sum(out_after) AS out_after, sum(own_before) AS own_before, sum(own_after) AS own_after
    FROM traffic GROUP BY program, function, file)
SELECT program, function, file, round(in_before, 1) AS in_before, round(in_after, 1) AS in_after, round(out_before, 1) AS out_before,
       round(out_after, 1) AS out_after, round(own_before, 1) AS own_before, round(own_after, 1) AS own_after,
       round(in_after - in_before + out_after - out_before + own_after - own_before, 1) AS growth,
       CASE WHEN in_before + out_before + own_before > 0
            THEN round(100 * (in_after - in_before + out_after - out_before + own_after - own_before) / (in_before + out_before + own_before), 1) END AS percent
FROM total
WHERE in_after + out_after + own_after > in_before + out_before + own_before
  AND 100 * (in_after + out_after + own_after - in_before - out_before - own_before) >= $4 * (in_before + out_before + own_before)
ORDER BY in_after - in_before + out_after - out_before + own_after - own_before DESC, program, function, file LIMIT $5
