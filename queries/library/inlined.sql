-- Functions that the compiler inlined, by the steps of their own, with the function that each is part of and the calls of it there.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: no executed instruction is of an inlined function as far as DWARF says: compile with -g, give the program with --elf
SELECT c.name AS inlined, f.name AS function, count(DISTINCT c.inlined_call_id) AS calls_in_source, count(*) AS instructions,
       CAST(sum(i.executions) AS BIGINT) AS steps, round(100.0 * sum(i.executions) / (SELECT sum(executions) FROM instruction), 1) AS percent
FROM inlined_call c JOIN inlined_instruction n USING (inlined_call_id) JOIN instruction i USING (instruction_id)
JOIN function_symbol f ON f.function_id = c.function_id
GROUP BY c.name, c.function_id, f.name ORDER BY steps DESC, inlined, function LIMIT $1;
