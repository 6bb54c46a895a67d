-- Loops of the control-flow graph, where the database has them
-- reads: loop, basic_block, source_name, named
-- column loop_key BIGINT: The same in all runs: of program, function, file and its number in the function
-- column function VARCHAR: Function that holds its header
-- column file VARCHAR: Source file of that without folders, empty if not known
-- column number INTEGER: Among the loops of the function, by the address of the header, from 1
-- column line INTEGER: Source line of its header, NULL if not known
-- column depth INTEGER: Loops around it
-- column start_up BIGINT: As in function
-- column entries BIGINT: How often it was entered, NULL if not known
-- column iterations BIGINT: How often its header ran, NULL if not known
-- column steps BIGINT: Instructions executed in its blocks, NULL if not known
SELECT lake_key('loop', function, file, CAST(number AS VARCHAR), '', '') AS loop_key, *
FROM (SELECT n.function, n.file,
             CAST(row_number() OVER (PARTITION BY n.function, n.file ORDER BY b.address, l.loop_id) AS INTEGER) AS number, b.line,
             l.depth, CAST(n.start_up AS BIGINT) AS start_up, l.entries, l.iterations, l.steps
      FROM loop l JOIN basic_block b ON b.basic_block_id = l.header_block_id JOIN named n ON n.function_id = l.function_id)
ORDER BY function, file, number
