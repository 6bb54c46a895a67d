-- Loads that restore a saved register, and the table of saves.
-- reads: save, save_candidate, restore_candidate, origin
-- restore: as restore_candidate; quiet: read_id (of the register, by saves that nothing exposes); derived_save: as saved_register
-- alias: id (write of a restore), owner, word, low, high, writer (that the register had before the save; NULL: no step)
CREATE TEMP TABLE restore AS SELECT r.* FROM restore_candidate r JOIN save USING (store_id);
CREATE TEMP TABLE derived_save AS
SELECT s.call_id, s.store_id // 65536 AS save_seq, (s.store_id % 65536)::USMALLINT AS save_ordinal, s.register_address, s.size AS bytes, s.address,
       max(r.read_id) // 65536 AS restore_seq, count(r.read_id)::INTEGER AS restores, s.exposed_id // 65536 AS exposed_seq
FROM save_candidate s JOIN save USING (store_id) LEFT JOIN restore r USING (store_id)
GROUP BY ALL;
CREATE TEMP TABLE quiet AS SELECT s.read_id FROM save_candidate s JOIN save USING (store_id) WHERE s.exposed_id IS NULL;
-- Register bytes that a restore gives back.
CREATE TEMP TABLE alias AS
SELECT r.write_id AS id, o.owner, o.word, o.low, o.high, o.writer
FROM restore r JOIN origin o USING (store_id);
-- Now the run once more with them: what its windows fill.
DELETE FROM held;
CREATE TEMP TABLE seen (is_register BOOLEAN, owner INTEGER, word UBIGINT, write_id BIGINT, call_id INTEGER, mask UTINYINT);
CREATE TEMP TABLE flow_part (
    writer_call_id INTEGER, reader_call_id INTEGER, writer_function_id INTEGER, reader_function_id INTEGER, via VARCHAR,
    bytes BIGINT, unique_bytes BIGINT, transfers BIGINT);
CREATE TEMP TABLE instruction_part (
    writer_instruction_id INTEGER, reader_instruction_id INTEGER, writer_function_id INTEGER, via VARCHAR, bytes BIGINT, transfers BIGINT);
CREATE TEMP TABLE cell_part (
    writer_function_id INTEGER, reader_function_id INTEGER, via VARCHAR, is_register BOOLEAN, owner INTEGER, word UBIGINT, mask UTINYINT);
