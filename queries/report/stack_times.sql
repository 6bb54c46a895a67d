-- Durations of calls by calling context, those with the largest sum first.
-- reads: stack_timing, call_stack, function_symbol
-- duckdb-only: arg_max and any_value
-- param seconds BOOLEAN: in seconds, else in ticks
-- param function INTEGER: only contexts whose innermost function is this; NULL: all
-- param limit BIGINT: rows at most
-- stack (outermost function first, the innermost 16), calls (whose duration is known), min, median, p90, p99, max, sum, self
WITH RECURSIVE top AS MATERIALIZED (
    FROM stack_timing WHERE $2::INTEGER IS NULL OR function_id = $2 ORDER BY sum DESC, stack_id LIMIT $3),
chain AS (
    SELECT stack_id, parent_stack_id AS up, function AS path, 1 AS n FROM top
    UNION ALL
    SELECT c.stack_id, k.parent_stack_id, CASE WHEN n = 16 THEN '…' ELSE s.name END || ' > ' || c.path, n + 1
    FROM chain c JOIN call_stack k ON k.stack_id = c.up JOIN function_symbol s ON s.function_id = k.function_id WHERE n <= 16)
SELECT arg_max(c.path, c.n) AS stack, any_value(t.calls) AS calls, any_value(CASE WHEN $1 THEN min_s ELSE min END) AS min,
       any_value(CASE WHEN $1 THEN median_s ELSE median END) AS median, any_value(CASE WHEN $1 THEN p90_s ELSE p90 END) AS p90,
       any_value(CASE WHEN $1 THEN p99_s ELSE p99 END) AS p99, any_value(CASE WHEN $1 THEN max_s ELSE max END) AS max,
       any_value(CASE WHEN $1 THEN sum_s ELSE sum END) AS sum, any_value(CASE WHEN $1 THEN sum_self_s ELSE sum_self END) AS self
FROM top t JOIN chain c USING (stack_id)
GROUP BY t.stack_id
ORDER BY any_value(t.sum) DESC, t.stack_id;
