-- Communications of a window: longest runs of adjacent bytes of one (write, read) pair; at detail `pairs` those between call instances.
-- reads: located_read, register_read, alone_read, unit_read, part_run, register_piece, alias_code, access_code
-- as the view communication
-- each: window
CREATE OR REPLACE TEMP TABLE derived_communication AS
WITH piece AS (
    SELECT read_id, write_id, false AS is_register, word * 8 + low AS address, high - low AS bytes, high - low = size AS is_whole
    FROM located_read WHERE call_id > 0 AND (getvariable('every') OR writer_call_id IS DISTINCT FROM call_id)
    UNION ALL
    SELECT r.base + u.slot, r.write_id, true, u.first, u.bytes, true
    FROM (FROM register_read WHERE getvariable('every') OR writer_call_id IS DISTINCT FROM call_id) r
    JOIN (FROM unit_read WHERE NOT is_alone) u USING (unit_id)
    UNION ALL
    SELECT read_id, write_id, true, first, bytes, false
    FROM alone_read WHERE getvariable('every') OR writer_call_id IS DISTINCT FROM call_id
    UNION ALL
    SELECT p.base + i.slot, p.base + w.slot, true, i.first, i.bytes, false
    FROM (FROM part_run WHERE getvariable('every')) p
    JOIN (FROM register_piece WHERE fed_code NOT IN (FROM alias_code)) i USING (part_id) JOIN access_code w ON w.code_id = i.fed_code),
run AS (
    SELECT read_id, write_id, is_register, address, bytes FROM piece WHERE is_whole
    UNION ALL
    SELECT read_id, write_id, is_register, min(address), sum(bytes)::INTEGER
    FROM (SELECT *, address::HUGEINT + bytes - sum(bytes) OVER (PARTITION BY read_id, is_register, write_id ORDER BY address) AS island
          FROM piece WHERE NOT is_whole)
    GROUP BY read_id, write_id, is_register, island)
SELECT CASE WHEN by_step THEN write_id // 65536 END AS write_seq, CASE WHEN by_step THEN write_id % 65536 END::USMALLINT AS write_ordinal,
       read_id // 65536 AS read_seq, (read_id % 65536)::USMALLINT AS read_ordinal, CASE WHEN is_register THEN 'register' ELSE 'memory' END AS space,
       address::UBIGINT AS address, bytes::UINTEGER AS bytes
FROM (SELECT *, write_id % 65536 < 32768 AS by_step FROM run);
