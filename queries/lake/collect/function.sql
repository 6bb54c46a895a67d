-- Functions that ran, with their sums over the run; stubs merged into their callers
-- reads: function_profile_folded, function_profile, instruction, named
-- column function_key BIGINT: The same in all runs: of program, function and file
-- column function VARCHAR: Name, without what compilers add for parts and clones
-- column file VARCHAR: Source file without its folders, empty if not known
-- column image VARCHAR: ELF file without its folders, empty if none
-- column kind VARCHAR: function, stub, unknown (code outside every symbol), kernel helper
-- column code_hash VARCHAR: MD5 of the instructions that ran, in the order of their addresses, those in their operands left out; NULL if not known
-- column code_bytes BIGINT: Size of its code by the symbol table, NULL if not known
-- column calls BIGINT: Instances, NULL if not known
-- column steps_self BIGINT: Steps in it, NULL if not known
-- column steps_total BIGINT: Inclusive steps over the instances without an ancestor of the same function
-- column written_bytes BIGINT: Bytes written to memory
-- column dead_bytes BIGINT: Bytes written to memory that were overwritten or left unread
WITH code AS (
    SELECT n.function, n.file, md5(string_agg(lake_code(i.text, i.opcode, i.target), ' ' ORDER BY i.address)) AS code_hash
    FROM instruction i JOIN named n USING (function_id) WHERE i.opcode IS NOT NULL GROUP BY ALL)
SELECT lake_key('function', n.function, n.file, '', '', '') AS function_key, n.function, n.file, min(n.image) AS image,
       min(n.kind) AS kind, any_value(c.code_hash) AS code_hash, CAST(sum(n.size) AS BIGINT) AS code_bytes,
       CAST(sum(p.calls) AS BIGINT) AS calls, CAST(sum(p.steps_self) AS BIGINT) AS steps_self,
       CAST(sum(p.steps_total) AS BIGINT) AS steps_total, CAST(sum(w.written_bytes) AS BIGINT) AS written_bytes,
       CAST(sum(w.dead_bytes) AS BIGINT) AS dead_bytes
FROM function_profile_folded p JOIN named n USING (function_id) LEFT JOIN function_profile w USING (function_id)
LEFT JOIN code c ON c.function = n.function AND c.file = n.file
GROUP BY n.function, n.file ORDER BY function_key
