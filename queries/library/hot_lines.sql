-- Source lines by the steps in them.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: no executed instruction has a source line: compile with -g and give the program with --elf
SELECT s.name || ':' || i.line AS line, any_value(f.name) AS function, count(*) AS instructions, sum(i.executions)::BIGINT AS steps,
       round(100.0 * sum(i.executions) / (SELECT sum(executions) FROM instruction), 1) AS percent
FROM instruction i JOIN source_name s USING (file_id) JOIN function_symbol f ON f.function_id = i.function_id
WHERE i.line IS NOT NULL
GROUP BY i.file_id, i.line, s.name, i.function_id ORDER BY steps DESC, line LIMIT $1;
