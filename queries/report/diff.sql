-- Two databases: functions with their steps (ticks, where the trace has times instead), calls and data by function names, stubs merged into their callers.
-- reads: function_symbol, image, function_profile_folded, function_time, call_edge_folded, function_edge_folded
-- needs: the second database attached as other
-- what (function, call, data), one, two (names; two is NULL of a function), via (of data), before, after (steps, calls, bytes or, of a trace
-- without sizes, dependences; NULL: not there)
WITH a_program AS (
    SELECT coalesce(max(substr(path, length(rtrim(path, replace(path, '/', ''))) + 1)), '') AS base FROM image WHERE image_id = 1),
b_program AS (
    SELECT coalesce(max(substr(path, length(rtrim(path, replace(path, '/', ''))) + 1)), '') AS base FROM other.image WHERE image_id = 1),
-- Of both the names of parts and copies that compilers make are those of the function.
a_own AS (
    -- The program's name where it stands in one: <app .rodata>, _start (app), <unknown app>, <mmap: app>, app+0x1234.
    SELECT function_id,
           CASE WHEN substr(name, 1, length(a.base) + 3) = a.base || '+0x' THEN b.base || substr(name, length(a.base) + 1)
                ELSE replace(replace(replace(replace(name, '<' || a.base || ' .', '<image .'), ' (' || a.base || ')', ' (' || b.base || ')'),
                             '<unknown ' || a.base || '>', '<unknown ' || b.base || '>'),
                             ': ' || a.base || '>', ': ' || b.base || '>') END AS name
    FROM function_symbol, a_program a, b_program b),
b_own AS (
    -- The program's name where it stands in one: <app .rodata>, _start (app), <unknown app>, <mmap: app>, app+0x1234.
    SELECT function_id,
           CASE WHEN substr(name, 1, length(b.base) + 3) = b.base || '+0x' THEN b.base || substr(name, length(b.base) + 1)
                ELSE replace(replace(replace(replace(name, '<' || b.base || ' .', '<image .'), ' (' || b.base || ')', ' (' || b.base || ')'),
                             '<unknown ' || b.base || '>', '<unknown ' || b.base || '>'),
                             ': ' || b.base || '>', ': ' || b.base || '>') END AS name
    FROM other.function_symbol, b_program b),
a_cut AS (
    SELECT function_id, replace(replace(replace(name, '.part.', '.cold'), '.isra.', '.cold'), '.constprop.', '.cold') AS name
    FROM a_own),
a_name AS (
    SELECT function_id, CASE WHEN instr(name, '.cold') > 1 THEN substr(name, 1, instr(name, '.cold') - 1) ELSE name END AS name FROM a_cut),
a_function AS (
    SELECT name, CAST(sum(coalesce(p.steps_self, CASE WHEN t.sum_self < 72057594037927936 THEN t.sum_self END)) AS BIGINT) AS n
    FROM function_profile_folded p JOIN a_name USING (function_id) LEFT JOIN function_time t USING (function_id) GROUP BY name),
a_call AS (
    SELECT c.name AS one, f.name AS two, CAST(sum(e.calls) AS BIGINT) AS n
    FROM call_edge_folded e JOIN a_name c ON c.function_id = e.caller_function_id
    JOIN a_name f ON f.function_id = e.callee_function_id GROUP BY c.name, f.name),
a_data AS (
    SELECT w.name AS one, r.name AS two, coalesce(e.via, 'dependence') AS via, CAST(sum(coalesce(e.bytes, e.transfers)) AS BIGINT) AS n
    FROM function_edge_folded e JOIN a_name w ON w.function_id = e.writer_function_id
    JOIN a_name r ON r.function_id = e.reader_function_id GROUP BY w.name, r.name, e.via),
b_cut AS (
    SELECT function_id, replace(replace(replace(name, '.part.', '.cold'), '.isra.', '.cold'), '.constprop.', '.cold') AS name
    FROM b_own),
b_name AS (
    SELECT function_id, CASE WHEN instr(name, '.cold') > 1 THEN substr(name, 1, instr(name, '.cold') - 1) ELSE name END AS name FROM b_cut),
b_function AS (
    SELECT name, CAST(sum(coalesce(p.steps_self, CASE WHEN t.sum_self < 72057594037927936 THEN t.sum_self END)) AS BIGINT) AS n
    FROM other.function_profile_folded p JOIN b_name USING (function_id) LEFT JOIN other.function_time t USING (function_id) GROUP BY name),
b_call AS (
    SELECT c.name AS one, f.name AS two, CAST(sum(e.calls) AS BIGINT) AS n
    FROM other.call_edge_folded e JOIN b_name c ON c.function_id = e.caller_function_id
    JOIN b_name f ON f.function_id = e.callee_function_id GROUP BY c.name, f.name),
b_data AS (
    SELECT w.name AS one, r.name AS two, coalesce(e.via, 'dependence') AS via, CAST(sum(coalesce(e.bytes, e.transfers)) AS BIGINT) AS n
    FROM other.function_edge_folded e JOIN b_name w ON w.function_id = e.writer_function_id
    JOIN b_name r ON r.function_id = e.reader_function_id GROUP BY w.name, r.name, e.via),
paired AS (
    SELECT 'function' AS what, name AS one, NULL AS two, NULL AS via, a.n AS before, b.n AS after
    FROM a_function a FULL JOIN b_function b USING (name)
    UNION ALL
    SELECT 'call', one, two, NULL, a.n, b.n FROM a_call a FULL JOIN b_call b USING (one, two)
    UNION ALL
    SELECT 'data', one, two, via, a.n, b.n FROM a_data a FULL JOIN b_data b USING (one, two, via))
SELECT what, one, two, via, before, after
FROM paired
ORDER BY what DESC, abs(coalesce(after, 0) - coalesce(before, 0)) DESC, one, two, via;
