-- Stores that are saves if the registers that they store are another instance's, loads that are then restores, and reads that expose, of a window.
-- reads: part_run, reload_code, window_store, window_cell, live_store, live_cell, byte_read
-- known_store: as window_store, with those before that still lie in memory, and exposed_id (first read that is no restore, NULL: none so far)
-- window_restore: read_id (the load), store_id, write_id (of the register), write_code
-- save_cell: cells that a candidate stores with their writer and, if that is a restore, the same cell of that store (next); call_id 0: a save of before
-- each: window
CREATE OR REPLACE TEMP TABLE every_store AS
SELECT *, NULL::BIGINT AS exposed_id, true AS is_new FROM window_store
UNION ALL SELECT *, false FROM live_store WHERE ends_before IS NULL OR ends_before >= getvariable('lo');
CREATE OR REPLACE TEMP TABLE found AS
SELECT b.* FROM byte_read b SEMI JOIN every_store s ON s.store_id = b.write_id;
-- Loads by the same instance of all that such a store left, into the same register.
CREATE OR REPLACE TEMP TABLE window_reload AS
SELECT l.read_id, s.store_id, a.base + r.write_slot AS write_id, r.write_code
FROM (SELECT read_id, min(code_id) AS code_id, min(write_id) AS store_id, min(call_id) AS call_id
      FROM found GROUP BY read_id HAVING min(write_id) = max(write_id) AND sum(high - low) = min(size)) l
JOIN reload_code r ON r.code_id = l.code_id
JOIN every_store s ON s.store_id = l.store_id
JOIN part_run a ON a.part_id = r.part_id AND a.base = l.read_id - r.slot
WHERE r.data_register = s.register_address AND a.address[r.memory_index + 1] = s.address AND r.size = s.size AND l.call_id = s.call_id
  AND coalesce(a.value[r.value_index + 1] = s.value, true);
CREATE OR REPLACE TEMP TABLE known_store AS
SELECT s.* EXCLUDE (exposed_id), coalesce(s.exposed_id, e.read_id) AS exposed_id
FROM every_store s
LEFT JOIN (SELECT s.store_id, min(b.read_id) AS read_id
           FROM found b JOIN every_store s ON s.store_id = b.write_id ANTI JOIN window_reload r ON r.read_id = b.read_id
           WHERE s.ends_before IS NULL OR b.read_id // 65536 < s.ends_before GROUP BY s.store_id) e USING (store_id);
CREATE OR REPLACE TEMP TABLE window_restore AS
SELECT r.* FROM window_reload r JOIN known_store s USING (store_id)
WHERE r.write_id IS NOT NULL AND (s.exposed_id IS NULL OR r.read_id < s.exposed_id);
CREATE OR REPLACE TEMP TABLE save_cell AS
WITH cell AS (
    SELECT row_number() OVER () AS node, *
    FROM (SELECT DISTINCT c.store_id, c.call_id, c.cell, c.write_id, c.writer_call_id, c.writer_code, r.store_id AS restored_id
          FROM window_cell c SEMI JOIN window_store s ON s.store_id = c.store_id LEFT JOIN window_restore r ON r.write_id = c.write_id
          UNION ALL SELECT store_id, 0, cell, write_id, writer_call_id, writer_code, NULL FROM live_cell))
SELECT c.*, n.node AS next FROM cell c LEFT JOIN cell n ON n.store_id = c.restored_id AND n.cell = c.cell;
-- To begin with, all are taken for saves that did not plainly store what their own instance wrote.
CREATE OR REPLACE TEMP TABLE save AS
SELECT store_id FROM save_cell GROUP BY store_id
HAVING NOT bool_or(coalesce(writer_call_id = call_id AND restored_id IS NULL, false));
