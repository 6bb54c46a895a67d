-- What a window adds to the saves and restores of the run, and what it leaves to the next one.
-- reads: save, origin, known_store, window_restore, held, held_register
-- saved, restore, alias, exposure: of the run; live_store, live_cell, held, held_register: left
-- each: window
INSERT INTO saved SELECT s.* EXCLUDE (is_new, exposed_id) FROM known_store s SEMI JOIN save USING (store_id) WHERE s.is_new;
INSERT INTO restore SELECT r.* FROM window_restore r SEMI JOIN save USING (store_id);
-- Register bytes that a restore gives back.
CREATE OR REPLACE TEMP TABLE window_alias AS
SELECT r.write_id AS id, s.thread_id, o.cell, o.write_id, o.writer_call_id, o.writer_code
FROM window_restore r SEMI JOIN save v ON v.store_id = r.store_id JOIN known_store s ON s.store_id = r.store_id JOIN origin o ON o.store_id = r.store_id;
INSERT INTO alias FROM window_alias;
INSERT INTO exposure SELECT store_id, exposed_id FROM known_store SEMI JOIN save USING (store_id) WHERE exposed_id IS NOT NULL;
CREATE OR REPLACE TEMP TABLE held_register AS
SELECT h.thread_id, h.cell, CASE WHEN a.id IS NULL THEN h.write_id ELSE a.write_id END AS write_id,
       CASE WHEN a.id IS NULL THEN h.writer_call_id ELSE a.writer_call_id END AS writer_call_id,
       CASE WHEN a.id IS NULL THEN h.writer_code ELSE a.writer_code END AS writer_code
FROM held_register h LEFT JOIN window_alias a ON a.id = h.write_id AND a.cell = h.cell;
CREATE OR REPLACE TEMP TABLE held AS
SELECT h.* FROM held h SEMI JOIN save v ON v.store_id = h.write_id JOIN known_store s ON s.store_id = h.write_id
WHERE s.ends_before IS NULL OR s.ends_before >= getvariable('hi');
CREATE OR REPLACE TEMP TABLE live_store AS
SELECT s.* EXCLUDE (is_new) FROM known_store s SEMI JOIN held h ON h.write_id = s.store_id;
CREATE OR REPLACE TEMP TABLE live_cell AS
SELECT o.store_id, o.cell, o.write_id, o.writer_call_id, o.writer_code FROM origin o SEMI JOIN live_store s ON s.store_id = o.store_id;
