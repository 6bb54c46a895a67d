-- Calls by functions; stubs merged into their callers
-- reads: call_edge_folded, named
-- column call_key BIGINT: The same in all runs: of program, caller and callee
-- column caller VARCHAR: Function that calls, empty for roots
-- column caller_file VARCHAR: Its source file without folders, empty if not known
-- column callee VARCHAR: Function that is called
-- column callee_file VARCHAR: Its source file without folders, empty if not known
-- column start_up BIGINT: 1: neither does the program's own work, see function
-- column calls BIGINT: Instances
-- column steps BIGINT: Their steps with all below them, NULL if not known
SELECT lake_key('call', coalesce(c.function, ''), coalesce(c.file, ''), f.function, f.file, '') AS call_key,
       coalesce(c.function, '') AS caller, coalesce(c.file, '') AS caller_file, f.function AS callee, f.file AS callee_file,
       CAST(min(CASE WHEN coalesce(c.start_up, 1) = 1 AND f.start_up = 1 THEN 1 ELSE 0 END) AS BIGINT) AS start_up,
       CAST(sum(e.calls) AS BIGINT) AS calls, CAST(sum(e.steps) AS BIGINT) AS steps
FROM call_edge_folded e LEFT JOIN named c ON c.function_id = e.caller_function_id JOIN named f ON f.function_id = e.callee_function_id
GROUP BY c.function, c.file, f.function, f.file ORDER BY call_key
