-- Functions by the steps in them, with what they call (steps_total) and without (steps_self). percent_self counts a repeated string instruction once.
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: the trace has no calls
WITH code AS (SELECT function_id, process_id, address, sum(executions) AS executions FROM instruction GROUP BY ALL),
     -- It is left as often as what stands behind it runs, but for what jumps there.
     repetition AS (SELECT i.function_id, sum(i.executions - coalesce(n.executions, 1))::BIGINT AS steps
                    FROM instruction i LEFT JOIN code n ON n.function_id = i.function_id AND n.process_id IS NOT DISTINCT FROM i.process_id
                         AND n.address = i.address + i.size
                    WHERE i.repeats AND i.executions > coalesce(n.executions, 1) GROUP BY ALL)
SELECT function, calls, steps_self, steps_total, coalesce(r.steps, 0) AS repetitions,
       round(100.0 * (steps_self - repetitions) / sum(steps_self - repetitions) OVER (), 1) AS percent_self, file
FROM flat_profile p LEFT JOIN repetition r ON r.function_id = p.function_id
QUALIFY $2 = 'all' OR p.function_id NOT IN (FROM start_up_function)
ORDER BY steps_self - repetitions DESC NULLS LAST, function LIMIT $1;
