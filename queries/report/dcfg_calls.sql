-- Call instances of a range of numbers, in order.
-- reads: function_call
-- param first INTEGER: first call_id
-- param last INTEGER: last call_id
-- call_id, kind, tail_of_call_id
SELECT call_id, kind, tail_of_call_id FROM function_call WHERE call_id BETWEEN CAST($1 AS INTEGER) AND CAST($2 AS INTEGER) ORDER BY call_id;
