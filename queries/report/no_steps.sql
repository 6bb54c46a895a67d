-- Why a database has no steps, and what to do about it.
-- duckdb-only: exports to SQLite have no run_code
-- reads: meta, input, basic_block, control_flow, instruction, run_code
-- why
SELECT CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'low_level')
            THEN 'an export to SQLite leaves them out; use the DuckDB file that it was made of'
            WHEN EXISTS (SELECT 1 FROM run_code) THEN 'it keeps them packed, which commands read; addfg rows makes rows of them for SQL'
            WHEN max(value) = 'instance' AND EXISTS (SELECT 1 FROM instruction)
            THEN 'built with --no-steps; build it without'
            WHEN max(value) <> 'summary' AND EXISTS (SELECT 1 FROM basic_block)
                 AND EXISTS (SELECT 1 FROM control_flow) AND NOT EXISTS (SELECT 1 FROM instruction)
            THEN 'its trace has them as blocks of a program that was not given; build it with --elf FILE'
            WHEN max(value) <> 'summary'
            THEN 'its trace (' || coalesce((SELECT string_agg(t.format, ', ')
                                            FROM (SELECT DISTINCT format FROM input WHERE role = 'trace' ORDER BY format) t), '?')
                 || ') has none; addfg record -- ./app, or QEMU, records them'
            WHEN EXISTS (SELECT 1 FROM instruction) THEN 'built with --no-steps; build it without'
            ELSE 'detail ' || coalesce(max(value), 'unknown') || ' leaves them out; build it with --detail pairs' END AS why
FROM meta WHERE key = 'detail';
