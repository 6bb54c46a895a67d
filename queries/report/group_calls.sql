-- Call instances with those that they came from: what called them, or what a tail instance replaced.
-- reads: function_call
-- call_id, function_id, from_call_id (NULL: none), is_stub
SELECT call_id, function_id, coalesce(tail_of_call_id, parent_call_id) AS from_call_id, kind = 'stub' AS is_stub
FROM function_call ORDER BY call_id;
