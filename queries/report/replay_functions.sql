-- Call instances with their functions.
-- reads: function_call
-- call_id, function_id
SELECT call_id, function_id FROM function_call;
