-- What of the critical path is by which call instance, where `addfg prepare` has stored it.
-- reads: critical_call
-- param weight VARCHAR: what a step adds to it
-- call_id, function_id, on_path
SELECT call_id, function_id, on_path FROM critical_call WHERE weight = $1;
