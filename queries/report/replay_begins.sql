-- First steps of call instances that were called.
-- reads: function_call
-- call_id, call_seq
SELECT call_id, call_seq FROM function_call WHERE call_seq IS NOT NULL AND parent_call_id IS NOT NULL;
