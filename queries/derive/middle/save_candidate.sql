-- Stores that are saves if the registers that they store are another instance's, and the loads that are then their restores.
-- reads: data_access, step_call, derived_call, byte_read, meta
-- save_candidate: store_id, read_id (of the register), seq, ordinal, register_address, size, address, value, thread_id, call_id,
-- exposed_id (first read that is no restore, NULL: none)
-- restore_candidate: read_id (the load), store_id, write_id (of the register), thread_id, register_address, size
-- save_byte: each byte that a candidate stores, with its last write and, if that is a restore's, the same byte of that store (next)
CREATE TEMP TABLE frame_store AS
SELECT a.seq * 65536 + a.ordinal AS store_id, r.seq * 65536 + r.ordinal AS read_id, a.seq, a.ordinal,
       a.data_register AS register_address, a.size, a.address, a.value, a.thread_id, s.call_id, c.ends_before
FROM data_access a JOIN step_call s ON s.seq = a.seq JOIN derived_call c USING (call_id)
JOIN data_access r ON r.seq = a.seq AND NOT r.is_write AND r.space = 'register' AND r.address = a.data_register AND r.size = a.size
    AND NOT r.is_control
WHERE a.is_write AND a.space = 'memory' AND a.data_register IS NOT NULL
  AND (SELECT value FROM meta WHERE key = 'saves') = 'transparent'
  AND CASE WHEN c.frame_top IS NULL THEN a.is_stack_relative
           ELSE a.address::HUGEINT + a.size <= c.frame_top AND a.address::HUGEINT >= c.frame_top::HUGEINT - 8388608 END;
-- Loads by the same instance of all that such a store left, into the same register.
CREATE TEMP TABLE reload AS
SELECT l.read_id, s.store_id, s.thread_id, s.register_address, s.size
FROM (SELECT read_id, min(write_id) AS store_id
      FROM byte_read WHERE NOT is_register
      GROUP BY read_id HAVING count(write_id) = count(*) AND min(write_id) = max(write_id)) l
JOIN frame_store s USING (store_id)
JOIN data_access a ON a.seq = l.read_id // 65536 AND a.ordinal = l.read_id % 65536
JOIN step_call c ON c.seq = a.seq
WHERE a.data_register = s.register_address AND a.address = s.address AND a.size = s.size AND c.call_id = s.call_id
  AND (a.value IS NULL OR s.value IS NULL OR a.value = s.value);
CREATE TEMP TABLE save_candidate AS
WITH exposed AS (
    SELECT s.store_id, min(b.read_id) AS exposed_id
    FROM frame_store s JOIN byte_read b ON b.write_id = s.store_id AND NOT b.is_register
    WHERE (s.ends_before IS NULL OR b.read_id // 65536 < s.ends_before) AND b.read_id NOT IN (SELECT read_id FROM reload)
    GROUP BY s.store_id)
SELECT s.* EXCLUDE (ends_before), e.exposed_id FROM frame_store s LEFT JOIN exposed e USING (store_id);
CREATE TEMP TABLE restore_candidate AS
SELECT l.read_id, l.store_id, w.seq * 65536 + w.ordinal AS write_id, l.thread_id, l.register_address, l.size
FROM reload l JOIN save_candidate s USING (store_id)
JOIN data_access w ON w.seq = l.read_id // 65536 AND w.is_write AND w.space = 'register' AND w.address = l.register_address
    AND w.size = l.size
WHERE s.exposed_id IS NULL OR l.read_id < s.exposed_id;
CREATE TEMP TABLE save_byte AS
WITH byte AS (
    SELECT row_number() OVER () AS node, s.store_id, s.call_id, b.byte, b.write_id, c.call_id AS writer_call_id,
           r.store_id AS restored_id
    FROM save_candidate s JOIN byte_read b ON b.read_id = s.read_id AND b.is_register
    LEFT JOIN step_call c ON c.seq = b.write_id // 65536
    LEFT JOIN restore_candidate r ON r.write_id = b.write_id AND r.thread_id = s.thread_id AND b.byte >= r.register_address
        AND b.byte < r.register_address + r.size)
SELECT b.*, n.node AS next FROM byte b LEFT JOIN byte n ON n.store_id = b.restored_id AND n.byte = b.byte;
-- To begin with, all are taken for saves that did not plainly store what their own instance wrote.
CREATE TEMP TABLE save AS
SELECT store_id FROM save_byte GROUP BY store_id
HAVING NOT bool_or(coalesce(writer_call_id = call_id AND restored_id IS NULL, false));
