-- What happens to memory beside the steps of a part of the run, each behind the step `seq`, in order.
-- reads: system_call_access, system_call, thread, mapping
-- param first BIGINT: first seq of the part
-- param last BIGINT: its last seq
-- seq, process_id, kind (read, write: the kernel's; map, unmap, move, copy, fresh, gap), address, bytes, to_address (move, copy), source
SELECT seq, process_id, kind, address, bytes, to_address, source
FROM (SELECT seq, process_id, kind, address, bytes, to_address, CAST(NULL AS VARCHAR) AS source, 0 AS system_call_id, 0 AS ordinal
      FROM mapping WHERE kind NOT IN ('device', 'memory')
      UNION ALL
      SELECT c.seq, t.process_id, CASE WHEN a.is_write THEN 'write' ELSE 'read' END, a.address, a.bytes, NULL,
             coalesce(a.source, '<kernel>'), a.system_call_id, a.ordinal
      FROM system_call_access a JOIN system_call c USING (system_call_id) JOIN thread t USING (thread_id))
WHERE seq BETWEEN CAST($1 AS BIGINT) AND CAST($2 AS BIGINT)
ORDER BY seq, system_call_id, ordinal, kind, address;
