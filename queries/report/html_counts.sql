-- What there is to show.
-- reads: function_edge_folded, call_edge_folded, function_call, instruction, function_profile_folded, input, meta
-- data (edges), sized (of them with bytes), calls (edges), instances (of calls), lines (instructions with one), steps (functions with
-- some), accesses (whether a trace carries them), formats (of the traces), detail
SELECT (SELECT count(*) FROM function_edge_folded) AS data, (SELECT count(bytes) FROM function_edge_folded) AS sized,
       (SELECT count(caller_function_id) FROM call_edge_folded) AS calls, (SELECT count(*) FROM function_call) AS instances,
       (SELECT count(line) FROM instruction) AS lines, (SELECT count(steps_self) FROM function_profile_folded) AS steps,
       (SELECT bool_or(carries_accesses) FROM input WHERE role = 'trace') AS accesses,
       (SELECT string_agg(DISTINCT format, ', ' ORDER BY format) FROM input WHERE role = 'trace') AS formats,
       (SELECT max(value) FROM meta WHERE key = 'detail') AS detail;
