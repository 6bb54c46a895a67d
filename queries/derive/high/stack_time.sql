-- Durations of calls by calling context, in ticks; calls whose duration is not known are in none of the columns.
-- reads: stack_ticks
-- as the table stack_time
WITH same AS (SELECT stack_id, ticks, sum(calls) AS n FROM stack_ticks WHERE ticks IS NOT NULL GROUP BY ALL),
upto AS (
    SELECT *, sum(n) OVER (PARTITION BY stack_id ORDER BY ticks) AS upto, sum(n) OVER (PARTITION BY stack_id) AS calls FROM same),
times AS (
    SELECT stack_id, any_value(calls) AS calls, min(ticks) AS min, min(ticks) FILTER (upto > floor(calls / 2)) AS median,
           min(ticks) FILTER (upto > floor(calls::DOUBLE * 0.9::DOUBLE)) AS p90,
           min(ticks) FILTER (upto > floor(calls::DOUBLE * 0.99::DOUBLE)) AS p99, max(ticks) AS max, sum(ticks::HUGEINT * n) AS sum
    FROM upto GROUP BY stack_id)
SELECT stack_id, coalesce(calls, 0)::BIGINT AS calls, min, median, p90, p99, max, coalesce(sum, 0)::HUGEINT AS sum, sum_self
FROM (SELECT stack_id, coalesce(sum(ticks_self) FILTER (ticks IS NOT NULL), 0)::HUGEINT AS sum_self FROM stack_ticks GROUP BY ALL)
LEFT JOIN times USING (stack_id)
ORDER BY stack_id
