-- Call instances, in no order.
-- reads: function_call
-- call_id, function_id, parent_call_id (0: none), steps_self, call_seq, tail_of_call_id (0: none), is_signal
SELECT call_id, function_id, coalesce(parent_call_id, 0) AS parent_call_id, coalesce(steps_self, 0) AS steps_self,
       coalesce(call_seq, 0) AS call_seq, coalesce(tail_of_call_id, 0) AS tail_of_call_id, kind = 'signal' AS is_signal
FROM function_call;
