-- Names of what the kernel read and wrote, in order.
-- reads: system_call_access
-- name
SELECT DISTINCT coalesce(source, '<kernel>') AS name FROM system_call_access ORDER BY name;
