-- What a database has of what graphs are made of: a row for each that is there.
-- reads: function_call, function_time, dependence_edge, function_edge, path_function, function_symbol, basic_block, cfg_edge, instruction, instruction_edge
-- fact
SELECT fact FROM (SELECT 'instances' AS fact FROM function_call LIMIT 1) AS a
UNION ALL SELECT fact FROM (SELECT 'ticks' AS fact FROM function_time LIMIT 1) AS b
UNION ALL SELECT fact FROM (SELECT 'control' AS fact FROM dependence_edge WHERE kind = 'control' LIMIT 1) AS c
UNION ALL SELECT fact FROM (SELECT 'dependences' AS fact FROM function_edge WHERE bytes IS NULL LIMIT 1) AS d
UNION ALL SELECT fact FROM (SELECT 'paths' AS fact FROM path_function LIMIT 1) AS e
UNION ALL SELECT fact FROM (SELECT 'only_blocks' AS fact FROM basic_block
    WHERE address IS NOT NULL AND EXISTS (SELECT 1 FROM cfg_edge) AND NOT EXISTS (SELECT 1 FROM instruction) LIMIT 1) AS g
UNION ALL SELECT fact FROM (SELECT 'only_functions' AS fact FROM function_edge
    WHERE EXISTS (SELECT 1 FROM instruction) AND NOT EXISTS (SELECT 1 FROM instruction_edge) LIMIT 1) AS h
UNION ALL SELECT fact FROM (SELECT 'stubs' AS fact FROM function_symbol WHERE kind = 'stub' LIMIT 1) AS f;
