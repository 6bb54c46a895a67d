-- Source lines that ran
-- reads: instruction, source_name, named
-- column line_key BIGINT: The same in all runs where neither function nor code of the line changed, wherever it moved: of program, function, file and code
-- column file VARCHAR: Source file without its folders
-- column line INTEGER: Its number in this build
-- column function VARCHAR: Function that has it
-- column code_hash VARCHAR: MD5 of its instructions that ran, in the order of their addresses, those in their operands left out
-- column instructions BIGINT: Distinct instructions of it that ran
-- column steps BIGINT: How often they ran
SELECT lake_key('line', n.function, s.name, code_hash, '', '') AS line_key, s.name AS file, l.line, n.function, l.code_hash,
       l.instructions, l.steps
FROM (SELECT function_id, file_id, line, md5(string_agg(coalesce(lake_code(text, opcode, target), ''), ' ' ORDER BY address)) AS code_hash,
             count(*) AS instructions, CAST(sum(executions) AS BIGINT) AS steps
      FROM instruction WHERE line IS NOT NULL AND file_id IS NOT NULL GROUP BY ALL) l
JOIN named n USING (function_id) JOIN source_name s USING (file_id)
ORDER BY file, line, function
