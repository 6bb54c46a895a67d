-- Call instances with those that they came from: what called them, or what a tail instance replaced.
-- A stub belongs to its caller, as in folded_call.sql, also where it replaced another call (`plt0`).
-- reads: function_call, function_symbol
-- call_id, function_id, from_call_id (NULL: none), is_stub, is_open (alive at the end), first, last (seq, inclusive), steps
SELECT call_id, function_id, CASE WHEN f.kind = 'stub' THEN parent_call_id ELSE coalesce(tail_of_call_id, parent_call_id) END AS from_call_id,
       f.kind = 'stub' AS is_stub, ending = 'open' AS is_open, call_seq AS first, return_seq AS last, steps_self AS steps
FROM function_call c JOIN function_symbol f USING (function_id);
