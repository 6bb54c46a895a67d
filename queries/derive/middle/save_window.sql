-- Stores that may be saves, loads that may be restores, and reads that expose, of a window.
-- reads: part_run, reload_code, window_store, window_cell, live_store, byte_read, frame_store, reload, held
-- frame_store: as window_store; stored_cell: as window_cell; live_store: those that still lie in memory
-- reload: read_id (the load), store_id, write_id (of the register), write_code
-- exposure: store_id, read_id (the first of the window that is no restore)
-- each: window
CREATE OR REPLACE TEMP TABLE known_store AS
FROM window_store UNION ALL FROM live_store WHERE ends_before IS NULL OR ends_before >= getvariable('lo');
CREATE OR REPLACE TEMP TABLE found AS
SELECT b.* FROM byte_read b SEMI JOIN known_store s ON s.store_id = b.write_id;
-- Loads by the same instance of all that such a store left, into the same register.
CREATE OR REPLACE TEMP TABLE window_reload AS
SELECT l.read_id, s.store_id, a.base + r.write_slot AS write_id, r.write_code
FROM (SELECT read_id, min(code_id) AS code_id, min(write_id) AS store_id, min(call_id) AS call_id
      FROM found GROUP BY read_id HAVING min(write_id) = max(write_id) AND sum(high - low) = min(size)) l
JOIN reload_code r ON r.code_id = l.code_id
JOIN known_store s ON s.store_id = l.store_id
JOIN part_run a ON a.part_id = r.part_id AND a.base = l.read_id - r.slot
WHERE r.data_register = s.register_address AND a.address[r.memory_index + 1] = s.address AND r.size = s.size AND l.call_id = s.call_id
  AND coalesce(a.value[r.value_index + 1] = s.value, true);
-- A store whose register its own instance wrote, and no restore, is none.
CREATE OR REPLACE TEMP TABLE no_save AS
SELECT DISTINCT store_id FROM window_cell c
WHERE c.writer_call_id = c.call_id AND c.write_id NOT IN (SELECT write_id FROM window_reload WHERE write_id IS NOT NULL)
  AND c.write_id NOT IN (SELECT write_id FROM reload WHERE write_id IS NOT NULL);
INSERT INTO frame_store SELECT * FROM window_store ANTI JOIN no_save USING (store_id);
INSERT INTO stored_cell SELECT c.* FROM window_cell c SEMI JOIN window_store USING (store_id) ANTI JOIN no_save USING (store_id);
INSERT INTO reload SELECT * FROM window_reload ANTI JOIN no_save USING (store_id);
INSERT INTO exposure
SELECT s.store_id, min(b.read_id)
FROM found b JOIN known_store s ON s.store_id = b.write_id
ANTI JOIN no_save n ON n.store_id = s.store_id
ANTI JOIN window_reload r ON r.read_id = b.read_id
WHERE s.ends_before IS NULL OR b.read_id // 65536 < s.ends_before
GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE held AS
SELECT h.* FROM held h JOIN known_store s ON s.store_id = h.write_id ANTI JOIN no_save n ON n.store_id = h.write_id
WHERE s.ends_before IS NULL OR s.ends_before >= getvariable('hi');
CREATE OR REPLACE TEMP TABLE live_store AS
SELECT s.* FROM known_store s SEMI JOIN held h ON h.write_id = s.store_id;
