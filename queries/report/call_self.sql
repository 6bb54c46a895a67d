-- Call instances of a list.
-- reads: function_call
-- duckdb-only: takes a list
-- param calls VARCHAR: call ids, separated by commas
-- call_id, instance, steps_self
SELECT call_id, instance, steps_self FROM function_call
WHERE call_id IN (SELECT CAST(unnest(string_split($1::VARCHAR, ',')) AS INTEGER));
