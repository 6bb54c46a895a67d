-- Stores that may be saves, loads that may be restores, and reads that expose, of a window.
-- reads: window_access, window_store, byte_read, frame_store, reload
-- frame_store: as window_store
-- reload: read_id (the load), store_id, write_id (of the register), thread_id, register_address, size
-- exposure: store_id, read_id (the first that is no restore); stored_atom: the bytes of the register with their writers
-- each: window
CREATE OR REPLACE TEMP TABLE known_store AS
FROM window_store UNION ALL FROM frame_store WHERE ends_before IS NULL OR ends_before >= getvariable('lo');
-- Loads by the same instance of all that such a store left, into the same register.
CREATE OR REPLACE TEMP TABLE window_reload AS
SELECT l.read_id, s.store_id, w.id AS write_id, s.thread_id, s.register_address, s.size
FROM window_access a
JOIN (SELECT read_id, min(writer.write_id) AS store_id FROM byte_read WHERE NOT is_register
      GROUP BY read_id HAVING count(writer.write_id) = count(*) AND min(writer.write_id) = max(writer.write_id)) l ON l.read_id = a.id
JOIN known_store s USING (store_id)
LEFT JOIN window_access w ON w.id // 65536 = a.id // 65536 AND w.is_write AND w.is_register AND w.address = a.data_register AND w.size = a.size
WHERE a.data_register = s.register_address AND a.address = s.address AND a.size = s.size AND a.call_id = s.call_id
  AND (a.value IS NULL OR s.value IS NULL OR a.value = s.value);
-- A store whose register its own instance wrote, and no restore, is none.
CREATE OR REPLACE TEMP TABLE window_atom AS
SELECT s.store_id, s.call_id, b.owner, b.word, b.low, b.high, b.writer
FROM window_store s JOIN byte_read b ON b.read_id = s.read_id AND b.is_register;
CREATE OR REPLACE TEMP TABLE no_save AS
SELECT DISTINCT store_id FROM window_atom a
WHERE a.writer.call_id = a.call_id AND a.writer.write_id NOT IN (SELECT write_id FROM window_reload WHERE write_id IS NOT NULL)
  AND a.writer.write_id NOT IN (SELECT write_id FROM reload WHERE write_id IS NOT NULL);
INSERT INTO frame_store SELECT * FROM window_store ANTI JOIN no_save USING (store_id);
INSERT INTO stored_atom SELECT * FROM window_atom ANTI JOIN no_save USING (store_id);
INSERT INTO reload SELECT * FROM window_reload ANTI JOIN no_save USING (store_id);
INSERT INTO exposure
SELECT s.store_id, min(b.read_id)
FROM byte_read b JOIN known_store s ON s.store_id = b.writer.write_id
ANTI JOIN no_save n ON n.store_id = s.store_id
ANTI JOIN window_reload r ON r.read_id = b.read_id
WHERE NOT b.is_register AND (s.ends_before IS NULL OR b.read_id // 65536 < s.ends_before)
GROUP BY ALL;
