-- Call instances with those that they came from: what called them, or what a tail instance replaced.
-- reads: function_call
-- call_id, function_id, from_call_id (NULL: none), is_stub, is_open (alive at the end), first, last (seq, inclusive), steps
SELECT call_id, function_id, coalesce(tail_of_call_id, parent_call_id) AS from_call_id, kind = 'stub' AS is_stub,
       ending = 'open' AS is_open, call_seq AS first, return_seq AS last, steps_self AS steps
FROM function_call;
