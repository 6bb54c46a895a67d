-- Stores that are saves if the registers that they store are another instance's, and the loads that are then their restores.
-- reads: frame_store, reload, exposure, stored_atom
-- save_candidate: as frame_store with exposed_id (first read that is no restore, NULL: none); restore_candidate: as reload
-- save_byte: bytes that a candidate stores with their writer and, if that is a restore, the same bytes of that store (next)
CREATE TEMP TABLE save_candidate AS
SELECT s.*, e.exposed_id FROM frame_store s
LEFT JOIN (SELECT store_id, min(read_id) AS exposed_id FROM exposure GROUP BY store_id) e USING (store_id);
CREATE TEMP TABLE restore_candidate AS
SELECT r.* FROM reload r JOIN save_candidate s USING (store_id)
WHERE r.write_id IS NOT NULL AND (s.exposed_id IS NULL OR r.read_id < s.exposed_id);
-- All saves of a register cut at the same places.
CREATE TEMP TABLE save_byte AS
WITH cut AS (SELECT owner, word, list_distinct(list(low) || list(high)) AS places FROM stored_atom GROUP BY ALL),
place AS (SELECT owner, word, unnest(places) AS low FROM cut),
piece AS (SELECT *, lead(low) OVER (PARTITION BY owner, word ORDER BY low) AS high FROM place),
byte AS (
    SELECT row_number() OVER () AS node, a.store_id, a.call_id, a.owner, a.word, p.low, p.high, a.writer, r.store_id AS restored_id
    FROM stored_atom a JOIN piece p ON p.owner = a.owner AND p.word = a.word AND p.low >= a.low AND p.high <= a.high
    LEFT JOIN restore_candidate r ON r.write_id = a.writer.write_id AND r.thread_id = a.owner)
SELECT b.*, n.node AS next FROM byte b LEFT JOIN byte n ON n.store_id = b.restored_id AND n.word = b.word AND n.low = b.low;
-- To begin with, all are taken for saves that did not plainly store what their own instance wrote.
CREATE TEMP TABLE save AS
SELECT store_id FROM save_byte GROUP BY store_id
HAVING NOT bool_or(coalesce(writer.call_id = call_id AND restored_id IS NULL, false));
