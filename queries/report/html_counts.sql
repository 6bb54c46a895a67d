-- What there is to show.
-- reads: function_edge_folded, call_edge_folded, function_call, instruction, function_profile_folded, input, meta
-- data (edges), sized (of them with bytes), calls (edges), instances (of calls), lines (instructions with one), steps (functions with
-- some), accesses (whether a trace carries them), formats (of the traces), detail
SELECT (SELECT count(*) FROM function_edge_folded) AS data, (SELECT count(bytes) FROM function_edge_folded) AS sized,
       (SELECT count(caller_function_id) FROM call_edge_folded) AS calls, (SELECT count(*) FROM function_call) AS instances,
       (SELECT count(line) FROM instruction) AS lines, (SELECT count(steps_self) FROM function_profile_folded) AS steps,
       (SELECT max(CASE WHEN carries_accesses THEN 1 WHEN NOT carries_accesses THEN 0 END) = 1 FROM input WHERE role = 'trace') AS accesses,
       (SELECT string_agg(f.format, ', ' ORDER BY f.format)
        FROM (SELECT DISTINCT format FROM input WHERE role = 'trace') f) AS formats,
       (SELECT max(value) FROM meta WHERE key = 'detail') AS detail;
