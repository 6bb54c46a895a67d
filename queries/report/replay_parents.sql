-- Call instances with their callers.
-- reads: function_call
-- call_id, parent_call_id
SELECT call_id, parent_call_id FROM function_call WHERE parent_call_id IS NOT NULL;
