-- One call instance.
-- reads: function_call
-- param call INTEGER: call_id
-- instance, steps_self
SELECT instance, steps_self FROM function_call WHERE call_id = ?;
