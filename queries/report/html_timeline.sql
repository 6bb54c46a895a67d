-- Calls over the run: those that last a bin of it one by one, shorter ones joined where neighbours are mostly of one function.
-- reads: function_call
-- duckdb-only: arg_max, and times of 64 bits take wider integers
-- param by_time BOOLEAN: position by the trace's clock instead of by step
-- param bins BIGINT: parts that the run is cut into
-- param deepest INTEGER: calls below this depth are left out
-- thread_id, depth, function_id, instance (NULL: several calls), first, last (from the start of the run, inclusive), calls,
-- busy (steps or time in them)
WITH placed AS (
    SELECT thread_id, depth, function_id, instance,
           (CASE WHEN $1 THEN call_time ELSE call_seq END)::HUGEINT AS first,
           (CASE WHEN $1 THEN return_time ELSE return_seq END)::HUGEINT AS last
    FROM function_call WHERE kind <> 'stub'),
bound AS (
    SELECT min(first) AS low, greatest((max(last) - min(first) + 1) // $2, 1) AS width FROM placed WHERE last >= first),
call AS (
    SELECT thread_id, depth, function_id, instance, (first - low)::BIGINT AS first, (last - low)::BIGINT AS last,
           width::BIGINT AS width, (last - first + 1)::BIGINT AS length
    FROM placed, bound WHERE last >= first AND depth <= $3),
-- The function that has most of a bin stands for it, of equal ones the one with the smaller id.
part AS (
    SELECT thread_id, depth, first // width AS bin, function_id, sum(length) AS busy, count(*) AS calls, min(first) AS first,
           max(last) AS last
    FROM call WHERE length < width GROUP BY ALL),
bin AS (
    SELECT thread_id, depth, bin, arg_max(function_id, busy * 4294967296 - function_id) AS function_id, sum(busy) AS busy,
           sum(calls) AS calls, min(first) AS first, max(last) AS last
    FROM part GROUP BY ALL),
island AS (
    SELECT *, bin - row_number() OVER (PARTITION BY thread_id, depth, function_id ORDER BY bin) AS island FROM bin)
SELECT thread_id, depth, function_id, NULL AS instance, min(first) AS first, max(last) AS last, sum(calls)::BIGINT AS calls,
       sum(busy)::BIGINT AS busy
FROM island GROUP BY thread_id, depth, function_id, island
UNION ALL
SELECT thread_id, depth, function_id, instance, first, last, 1, length FROM call WHERE length >= width
ORDER BY thread_id, depth, first, last, function_id;
