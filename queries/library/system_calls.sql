-- What the kernel gave and took: system calls by name and by file, with the bytes that it wrote and read.
-- theme: system
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: the trace tells of no system calls; addfg record and QEMU with -strace do
SELECT coalesce(s.name, 'number ' || s.number) AS system_call, a.source, count(DISTINCT s.system_call_id) AS calls,
       coalesce(sum(a.bytes) FILTER (a.is_write), 0)::BIGINT AS bytes_given, coalesce(sum(a.bytes) FILTER (NOT a.is_write), 0)::BIGINT AS bytes_taken
FROM system_call s LEFT JOIN system_call_access a USING (system_call_id) WHERE s.name IS NULL OR s.name NOT IN ('device', 'exception entry')
GROUP BY s.name, s.number, a.source ORDER BY bytes_given + bytes_taken DESC, calls DESC, system_call, a.source LIMIT $1;
