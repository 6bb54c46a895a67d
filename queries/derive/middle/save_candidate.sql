-- Stores that are saves if the registers that they store are another instance's, and the loads that are then their restores.
-- reads: frame_store, reload, exposure, stored_cell
-- save_candidate: as frame_store with exposed_id (first read that is no restore, NULL: none); restore_candidate: as reload
-- save_cell: cells that a candidate stores with their writer and, if that is a restore, the same cell of that store (next)
CREATE TEMP TABLE save_candidate AS
SELECT s.*, e.exposed_id FROM frame_store s
LEFT JOIN (SELECT store_id, min(read_id) AS exposed_id FROM exposure GROUP BY store_id) e USING (store_id);
CREATE TEMP TABLE restore_candidate AS
SELECT r.* FROM reload r JOIN save_candidate s USING (store_id)
WHERE r.write_id IS NOT NULL AND (s.exposed_id IS NULL OR r.read_id < s.exposed_id);
CREATE TEMP TABLE save_cell AS
WITH cell AS (
    SELECT row_number() OVER () AS node, c.*, r.store_id AS restored_id
    FROM (SELECT DISTINCT * FROM stored_cell) c LEFT JOIN restore_candidate r USING (write_id))
SELECT c.*, n.node AS next FROM cell c LEFT JOIN cell n ON n.store_id = c.restored_id AND n.cell = c.cell;
-- To begin with, all are taken for saves that did not plainly store what their own instance wrote.
CREATE TEMP TABLE save AS
SELECT store_id FROM save_cell GROUP BY store_id
HAVING NOT bool_or(coalesce(writer_call_id = call_id AND restored_id IS NULL, false));
