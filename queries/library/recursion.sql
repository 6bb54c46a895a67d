-- Functions that call themselves, directly or through others: how deep, and the first call that is as deep.
-- theme: cost
-- needs: instance
-- param rows count = 20: rows at most, 0 for all
-- none: no function calls itself
WITH candidate AS (
    -- The steps of all calls of a function are more than those of its outermost ones: a few rows, where calls are millions.
    SELECT p.function_id
    FROM function_profile p
    LEFT JOIN (SELECT callee_function_id AS function_id, sum(steps) AS steps FROM call_edge GROUP BY ALL) e USING (function_id)
    WHERE e.steps IS NULL OR p.steps_total IS NULL OR e.steps > p.steps_total),
called AS (FROM function_call SEMI JOIN candidate USING (function_id) WHERE call_seq IS NOT NULL),
change AS (
    SELECT function_id, thread_id, call_seq AS seq, 1 AS more, call_id FROM called
    UNION ALL SELECT function_id, thread_id, return_seq + 1, -1, NULL FROM called WHERE return_seq IS NOT NULL),
open AS (
    -- Of the calls of a function in a thread, those that have begun and not ended. What ends comes before what begins at its step.
    SELECT function_id, call_id,
           sum(more) OVER (PARTITION BY function_id, thread_id ORDER BY seq, more, call_id ROWS UNBOUNDED PRECEDING) AS nested
    FROM change),
deepest AS (
    SELECT function_id, max(nested)::BIGINT AS nested, arg_min(call_id, (-nested, call_id)) AS call_id, count(*) AS calls
    FROM open WHERE call_id IS NOT NULL GROUP BY function_id HAVING max(nested) > 1)
SELECT f.name AS function, d.nested AS calls_within_one_another, d.calls, f.name || '#' || c.instance AS deepest_call, c.depth, c.call_seq
FROM deepest d JOIN function_symbol f USING (function_id) JOIN function_call c ON c.call_id = d.call_id
ORDER BY d.nested DESC, function LIMIT $1;
