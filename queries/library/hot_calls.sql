-- Who calls whom how often, and the steps of what was called with all below it.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: the trace has no calls
SELECT coalesce(caller, '(start)') AS caller, callee, sum(calls)::BIGINT AS calls, sum(steps)::BIGINT AS steps_total,
       string_agg(DISTINCT kind, ', ' ORDER BY kind) AS kinds
FROM call_graph
WHERE $2 = 'all' OR callee_function_id NOT IN (FROM start_up_function)
GROUP BY caller_function_id, caller, callee_function_id, callee
ORDER BY steps_total DESC NULLS LAST, calls DESC, caller, callee LIMIT $1;
