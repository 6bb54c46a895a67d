-- Source lines by the steps in them.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: no executed instruction has a source line: compile with -g and give the program with --elf
SELECT s.name || ':' || i.line AS line, any_value(f.name) AS function, count(*) AS instructions, sum(i.executions)::BIGINT AS steps,
       round(100.0 * sum(i.executions) / (SELECT sum(executions) FROM instruction), 1) AS percent
FROM instruction i JOIN source_name s USING (file_id) JOIN function_symbol f ON f.function_id = i.function_id
WHERE i.line IS NOT NULL AND ($2 = 'all' OR i.function_id NOT IN (FROM start_up_function))
GROUP BY i.file_id, i.line, s.name, i.function_id ORDER BY steps DESC, line LIMIT $1;
