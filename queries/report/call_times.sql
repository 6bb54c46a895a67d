-- Durations of calls by function, those with the largest sum first.
-- reads: call_timing
-- param seconds BOOLEAN: in seconds, else in ticks
-- param function INTEGER: only of this function; NULL: all
-- param limit BIGINT: rows at most
-- function, calls (whose duration is known), min, median, p90, p99, max, sum, self (without the calls inside)
SELECT function, calls, CASE WHEN $1 THEN min_s ELSE min END AS min, CASE WHEN $1 THEN median_s ELSE median END AS median,
       CASE WHEN $1 THEN p90_s ELSE p90 END AS p90, CASE WHEN $1 THEN p99_s ELSE p99 END AS p99,
       CASE WHEN $1 THEN max_s ELSE max END AS max, CASE WHEN $1 THEN sum_s ELSE sum END AS sum,
       CASE WHEN $1 THEN sum_self_s ELSE sum_self END AS self
FROM call_timing
WHERE CAST($2 AS INTEGER) IS NULL OR function_id = $2
ORDER BY call_timing.sum DESC, function_id
LIMIT $3;
