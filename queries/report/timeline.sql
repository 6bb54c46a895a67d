-- The longest call instances.
-- reads: function_call
-- param top BIGINT: rows at most
-- function_id, instance, first, last (seq), depth (where threads overlap in time: below those of the threads before), calls (instances of
-- the run), thread_id
WITH longest AS (
    SELECT * FROM function_call WHERE call_seq IS NOT NULL AND return_seq IS NOT NULL ORDER BY return_seq - call_seq DESC, call_id LIMIT $1),
-- Steps of several threads follow each other, times do not.
lanes AS (
    SELECT thread_id, coalesce(sum(rows) OVER (ORDER BY thread_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS base
    FROM (SELECT thread_id, max(depth) + 1 AS rows FROM longest WHERE call_instruction_id IS NULL AND call_time IS NOT NULL
               AND EXISTS (SELECT 1 FROM call_record) GROUP BY thread_id) lane)
SELECT c.function_id, c.instance, c.call_seq AS first, c.return_seq AS last, CAST(c.depth + coalesce(l.base, 0) AS INTEGER) AS depth,
       (SELECT count(*) FROM function_call) AS calls, c.thread_id
FROM longest c LEFT JOIN lanes l USING (thread_id)
ORDER BY c.return_seq - c.call_seq DESC, c.call_id;
