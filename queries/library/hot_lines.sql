-- Source lines by the steps in them. percent counts a repeated string instruction once.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: no executed instruction has a source line: compile with -g and give the program with --elf
WITH code AS (SELECT function_id, process_id, address, sum(executions) AS executions FROM instruction GROUP BY ALL),
     -- A repeated one is left as often as what stands behind it runs, but for what jumps there.
     cost AS (SELECT i.*, CASE WHEN i.repeats THEN greatest(i.executions - coalesce(n.executions, 1), 0) ELSE 0 END AS repetitions
              FROM instruction i LEFT JOIN code n ON i.repeats AND n.function_id = i.function_id
                   AND n.process_id IS NOT DISTINCT FROM i.process_id AND n.address = i.address + i.size)
SELECT s.name || ':' || i.line AS line, any_value(f.name) AS function, count(*) AS instructions, sum(i.executions)::BIGINT AS steps,
       sum(i.repetitions)::BIGINT AS repetitions,
       round(100.0 * sum(i.executions - i.repetitions) / (SELECT sum(executions - repetitions) FROM cost), 1) AS percent
FROM cost i JOIN source_name s USING (file_id) JOIN function_symbol f ON f.function_id = i.function_id
WHERE i.line IS NOT NULL AND ($2 = 'all' OR i.function_id NOT IN (FROM start_up_function))
GROUP BY i.file_id, i.line, s.name, i.function_id ORDER BY steps - sum(i.repetitions) DESC, line LIMIT $1;
