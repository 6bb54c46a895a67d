-- The critical path, where `addfg prepare` has stored it.
-- reads: critical_path
-- param weight VARCHAR: what a step adds to it
-- steps, length
SELECT steps, length FROM critical_path WHERE weight = $1;
