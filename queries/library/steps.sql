-- The run itself, step by step: instruction, function, source line.
-- theme: steps
-- needs: pairs
-- param first step: the first step, from 1
-- param rows count = 20: rows at most
-- none: the run has no such step
SELECT s.seq, printf('0x%x', i.address) AS address, i.text, f.name AS function, n.name || ':' || i.line AS line, s.executed
FROM steps($1, $1 - 1 + least($2, 1000000000000000)) s
JOIN instruction i USING (instruction_id) JOIN function_symbol f ON f.function_id = i.function_id
LEFT JOIN source_name n ON n.file_id = i.file_id ORDER BY s.seq LIMIT $2;
