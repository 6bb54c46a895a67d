-- The longest call instances.
-- reads: function_call
-- param top BIGINT: rows at most
-- function_id, instance, first, last (seq), depth, calls (instances of the run)
SELECT function_id, instance, call_seq AS first, return_seq AS last, depth, (SELECT count(*) FROM function_call) AS calls
FROM function_call WHERE call_seq IS NOT NULL AND return_seq IS NOT NULL
ORDER BY return_seq - call_seq DESC, call_id LIMIT ?;
