-- Every figure of every run as a row, so that one question asks steps, calls, bytes and iterations alike
-- reads: function, call, edge, loop
-- column program VARCHAR: Program
-- column run_id BIGINT: Run
-- column measure VARCHAR: steps (of a function itself), steps_total (with all below it), written_bytes, dead_bytes, calls, bytes (between functions), unique_bytes, buffer (addresses of an edge), iterations (of a loop)
-- column thing_key BIGINT: What has the figure, see thing; no two measures share one
-- column value BIGINT: The figure
SELECT program, run_id, 'steps' AS measure, function_key AS thing_key, steps_self AS value FROM function WHERE steps_self IS NOT NULL
UNION ALL SELECT program, run_id, 'steps_total', function_key + 1, steps_total FROM function WHERE steps_total IS NOT NULL
UNION ALL SELECT program, run_id, 'written_bytes', function_key + 2, written_bytes FROM function WHERE written_bytes IS NOT NULL
UNION ALL SELECT program, run_id, 'dead_bytes', function_key + 3, dead_bytes FROM function WHERE dead_bytes IS NOT NULL
UNION ALL SELECT program, run_id, 'calls', call_key, calls FROM call WHERE calls IS NOT NULL
UNION ALL SELECT program, run_id, 'bytes', edge_key, bytes FROM edge WHERE bytes IS NOT NULL
UNION ALL SELECT program, run_id, 'buffer', -edge_key, addresses FROM edge WHERE addresses IS NOT NULL
UNION ALL SELECT program, run_id, 'unique_bytes', -edge_key - 1, unique_bytes FROM edge WHERE unique_bytes IS NOT NULL
UNION ALL SELECT program, run_id, 'iterations', loop_key, iterations FROM loop WHERE iterations IS NOT NULL
