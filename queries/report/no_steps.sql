-- Why a database has no steps, and what to do about it.
-- reads: meta, input, basic_block, control_flow, instruction
-- why
SELECT CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'low_level')
            THEN 'an export to SQLite leaves them out; use the DuckDB file that it was made of'
            WHEN EXISTS (SELECT 1 FROM meta WHERE key IN ('pairs_in', 'range') AND value IS NOT NULL)
            THEN 'none is in the part that --pairs-in or --range kept; build it with another one'
            WHEN max(value) = 'instance' AND EXISTS (SELECT 1 FROM instruction)
            THEN 'detail instance keeps them packed, which commands read and SQL does not; build it with --detail pairs'
            WHEN max(value) <> 'summary' AND EXISTS (SELECT 1 FROM basic_block)
                 AND EXISTS (SELECT 1 FROM control_flow) AND NOT EXISTS (SELECT 1 FROM instruction)
            THEN 'its trace has them as blocks of a program that was not given; build it with --elf FILE'
            WHEN max(value) <> 'summary'
            THEN 'its trace (' || coalesce((SELECT string_agg(t.format, ', ')
                                            FROM (SELECT DISTINCT format FROM input WHERE role = 'trace' ORDER BY format) t), '?')
                 || ') has none; valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes or QEMU record them'
            ELSE 'detail ' || coalesce(max(value), 'unknown') || ' leaves them out; build it with --detail instance, or pairs for SQL over steps' END AS why
FROM meta WHERE key = 'detail';
