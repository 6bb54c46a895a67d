-- Functions that ran, with their sums over the run; stubs merged into their callers
-- reads: function_profile_folded, function_profile, function_symbol, source_file, instruction, lake_code, named
-- column function_key BIGINT: The same in all runs: of program, function and file
-- column function VARCHAR: Name, without what compilers add for parts and clones
-- column file VARCHAR: Source file without its folders, empty if not known
-- column path VARCHAR: Source file as the ELF has it, NULL if not known
-- column line BIGINT: First line of it that ran, in that file; NULL if not known
-- column image VARCHAR: ELF file without its folders, empty if none
-- column kind VARCHAR: function, stub, unknown (code outside every symbol), kernel helper
-- column owner VARCHAR: Whose code it is: program, runtime, linker; empty if not known
-- column start_up BIGINT: 1: start-up, end, the dynamic linker or a stub of it; 0: the program's own work
-- column code_hash VARCHAR: MD5 of the bytes of the instructions that ran, in the order of their addresses, relocations as zeros; NULL if not known
-- column code_bytes BIGINT: Size of its code by the symbol table, NULL if not known
-- column calls BIGINT: Instances, NULL if not known
-- column steps_self BIGINT: Steps in it, NULL if not known
-- column steps_total BIGINT: Inclusive steps over the instances without an ancestor of the same function
-- column written_bytes BIGINT: Bytes written to memory
-- column dead_bytes BIGINT: Bytes written to memory that were overwritten or left unread
WITH code AS (
    SELECT n.function, n.file, md5(string_agg(c.code, ' ' ORDER BY i.address)) AS code_hash
    FROM instruction i JOIN lake_code c USING (instruction_id) JOIN named n USING (function_id) GROUP BY ALL),
first_line AS (
    SELECT i.function_id, min(i.line) AS line FROM instruction i JOIN function_symbol f USING (function_id)
    WHERE i.file_id = f.file_id GROUP BY ALL)
SELECT lake_key('function', n.function, n.file, '', '', '') AS function_key, n.function, n.file, min(s.path) AS path,
       CAST(min(l.line) AS BIGINT) AS line, min(n.image) AS image,
       min(n.kind) AS kind, min(n.owner) AS owner, CAST(min(n.start_up) AS BIGINT) AS start_up, any_value(c.code_hash) AS code_hash, CAST(sum(n.size) AS BIGINT) AS code_bytes,
       CAST(sum(p.calls) AS BIGINT) AS calls, CAST(sum(p.steps_self) AS BIGINT) AS steps_self,
       CAST(sum(p.steps_total) AS BIGINT) AS steps_total, CAST(sum(w.written_bytes) AS BIGINT) AS written_bytes,
       CAST(sum(w.dead_bytes) AS BIGINT) AS dead_bytes
FROM function_profile_folded p JOIN named n USING (function_id) LEFT JOIN function_profile w USING (function_id)
LEFT JOIN function_symbol y USING (function_id) LEFT JOIN source_file s ON s.file_id = y.file_id
LEFT JOIN first_line l USING (function_id) LEFT JOIN code c ON c.function = n.function AND c.file = n.file
GROUP BY n.function, n.file ORDER BY function_key
