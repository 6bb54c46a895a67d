-- Loads that restore a saved register, and the table of saves.
-- reads: save, save_candidate, restore_candidate, origin
-- as the table saved_register
CREATE TEMP TABLE restore AS SELECT r.* FROM restore_candidate r JOIN save USING (store_id);
CREATE TEMP TABLE derived_save AS
SELECT s.call_id, s.seq AS save_seq, s.ordinal AS save_ordinal, s.register_address, s.size AS bytes, s.address,
       max(r.read_id) // 65536 AS restore_seq, count(r.read_id)::INTEGER AS restores, s.exposed_id // 65536 AS exposed_seq
FROM save_candidate s JOIN save USING (store_id) LEFT JOIN restore r USING (store_id)
GROUP BY ALL;
-- Register bytes that a restore gives back: its write stands for the one that the register had before the save.
-- write_id (the restore's), is_register, byte, thread_id, origin_id (NULL: no step wrote it)
CREATE TEMP TABLE alias AS
SELECT r.write_id, true AS is_register, o.byte, r.thread_id, o.write_id AS origin_id
FROM restore r JOIN origin o USING (store_id);
