-- What of the critical path is by which function, where `addfg prepare` has stored it.
-- reads: critical_function
-- param weight VARCHAR: what a step adds to it
-- function_id, on_path
SELECT function_id, on_path FROM critical_function WHERE weight = $1;
