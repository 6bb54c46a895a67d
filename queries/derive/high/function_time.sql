-- Durations of calls by function, in ticks.
-- reads: stack_ticks, call_stack, stack_time
-- as the table function_time
WITH same AS (
    SELECT k.function_id, t.ticks, sum(t.calls) AS n FROM stack_ticks t JOIN call_stack k USING (stack_id) WHERE t.ticks IS NOT NULL
    GROUP BY ALL),
upto AS (
    SELECT *, sum(n) OVER (PARTITION BY function_id ORDER BY ticks) AS upto, sum(n) OVER (PARTITION BY function_id) AS calls FROM same),
times AS (
    SELECT function_id, any_value(calls) AS calls, min(ticks) AS min, min(ticks) FILTER (upto > floor(calls / 2)) AS median,
           min(ticks) FILTER (upto > floor(calls::DOUBLE * 0.9::DOUBLE)) AS p90,
           min(ticks) FILTER (upto > floor(calls::DOUBLE * 0.99::DOUBLE)) AS p99, max(ticks) AS max, sum(ticks::HUGEINT * n) AS sum
    FROM upto GROUP BY function_id)
SELECT function_id, coalesce(calls, 0)::BIGINT AS calls, min, median, p90, p99, max, coalesce(t.sum, 0)::HUGEINT AS sum, s.sum_self,
       coalesce(s.sum_outermost, 0)::HUGEINT AS sum_outermost
FROM (SELECT k.function_id, sum(sum_self)::HUGEINT AS sum_self, sum(sum) FILTER (NOT k.nested) AS sum_outermost
      FROM stack_time JOIN call_stack k USING (stack_id) GROUP BY ALL) s
LEFT JOIN times t USING (function_id)
ORDER BY function_id
