-- Functions by the steps in them, with what they call (steps_total) and without (steps_self).
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: the trace has no calls
SELECT function, calls, steps_self, steps_total,
       round(100.0 * steps_self / sum(steps_self) OVER (), 1) AS percent_self, file
FROM flat_profile
QUALIFY $2 = 'all' OR function_id NOT IN (FROM start_up_function)
ORDER BY steps_self DESC NULLS LAST, function LIMIT $1;
