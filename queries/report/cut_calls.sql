-- Call instances with those that they came from: what called them, or what a tail instance replaced.
-- A stub that another one goes on to (`plt0`) is one, too, though its kind is that of a tail.
-- reads: function_call, function_symbol
-- call_id, function_id, from_call_id (NULL: none), is_stub, is_open (alive at the end), first, last (seq, inclusive), steps
SELECT call_id, function_id, coalesce(tail_of_call_id, parent_call_id) AS from_call_id, c.kind = 'stub' OR f.kind = 'stub' AS is_stub,
       ending = 'open' AS is_open, call_seq AS first, return_seq AS last, steps_self AS steps
FROM function_call c JOIN function_symbol f USING (function_id);
