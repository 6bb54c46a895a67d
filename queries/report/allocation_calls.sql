-- Calls of given functions in a part of the run, in order; and whatever goes on for a call that ended in a jump, and signal handlers.
-- reads: function_call
-- duckdb-only: takes a list
-- param first BIGINT: first seq of the part
-- param last BIGINT: its last seq
-- param functions VARCHAR: function ids, separated by commas
-- call_id, function_id, thread_id, tail_of_call_id, signal, returns (ends with a return), tail (ends with a jump), call_seq, return_seq,
-- call_instruction_id
SELECT call_id, function_id, thread_id, tail_of_call_id, kind = 'signal' AS signal, ending = 'return' AS returns, ending = 'tail' AS tail,
       call_seq, return_seq, call_instruction_id
FROM function_call
WHERE call_seq BETWEEN $1::BIGINT AND $2::BIGINT AND return_seq IS NOT NULL
  AND (kind = 'signal' OR tail_of_call_id IS NOT NULL OR list_contains(string_split($3::VARCHAR, ',')::INTEGER[], function_id))
ORDER BY call_seq, call_id;
