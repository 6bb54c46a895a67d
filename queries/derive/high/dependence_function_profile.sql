-- Functions of a trace of dependences with their executed instructions; calls are not known.
-- reads: instruction
-- function_id, calls, steps_self, steps_total, dead_bytes, written_bytes
SELECT function_id, NULL AS calls, least(sum(executions), 9223372036854775807)::BIGINT AS steps_self, NULL AS steps_total, NULL AS dead_bytes, NULL AS written_bytes
FROM instruction
GROUP BY function_id
ORDER BY function_id;
