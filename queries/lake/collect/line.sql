-- Source lines that ran
-- reads: instruction, lake_code, source_name, named
-- column line_key BIGINT: The same in all runs where neither function nor code of the line changed, wherever it moved: of program, function, file, code, and which of the function's lines with this code it is
-- column file VARCHAR: Source file without its folders
-- column line INTEGER: Its number in this build
-- column function VARCHAR: Function that has it
-- column code_hash VARCHAR: MD5 of the bytes of its instructions that ran, in the order of their addresses, relocations as zeros
-- column start_up BIGINT: As in function
-- column instructions BIGINT: Distinct instructions of it that ran
-- column steps BIGINT: How often they ran
SELECT lake_key('line', function, file, code_hash, '',
                CAST(row_number() OVER (PARTITION BY function, file, code_hash ORDER BY line) AS VARCHAR)) AS line_key,
       file, line, function, code_hash, CAST(start_up AS BIGINT) AS start_up, instructions, steps
FROM (SELECT n.function, s.name AS file, l.line, l.code_hash, min(n.start_up) AS start_up, sum(l.instructions) AS instructions,
             sum(l.steps) AS steps
      FROM (SELECT i.function_id, i.file_id, i.line, md5(string_agg(coalesce(c.code, ''), ' ' ORDER BY i.address)) AS code_hash,
                   count(*) AS instructions, CAST(sum(i.executions) AS BIGINT) AS steps
            FROM instruction i LEFT JOIN lake_code c USING (instruction_id)
            WHERE i.line IS NOT NULL AND i.file_id IS NOT NULL GROUP BY ALL) l
      JOIN named n USING (function_id) JOIN source_name s USING (file_id) GROUP BY ALL)
ORDER BY file, line, function, code_hash
