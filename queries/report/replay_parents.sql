-- Call instances with their callers, and whether these were interrupted instead.
-- reads: function_call
-- call_id, parent_call_id, interrupted
SELECT call_id, parent_call_id, kind = 'signal' AS interrupted FROM function_call WHERE parent_call_id IS NOT NULL;
