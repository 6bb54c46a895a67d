-- The table of saves, and what of the code takes part in saves and restores.
-- reads: saved, restore, exposure, alias, access_code, register_piece, part_write
-- quiet: read_id (of the register, by saves that nothing exposes), read_code; derived_save: as saved_register
-- unit: cells that runs of parts read, from before them or, where a restore may come between, from a write of theirs (fed_slot): unit_id, part_id,
-- cell, fed_code, fed_slot, first_slot; unit_read: unit_id, code_id, slot, first, bytes, mask, is_alone (one by one, as a save or of several pieces)
-- unit_sum: of those that are not: unit_id, code_id (one of them), bytes, transfers, mask
-- fed: reads that writes of the same run of a part feed, whoever saves: part_id, function_id, writer_code, reader_code, bytes
-- own_read: writer_code, cell, mask: what of a write `fed` reads
CREATE TEMP TABLE derived_save AS
SELECT s.call_id, s.store_id // 65536 AS save_seq, (s.store_id % 65536)::USMALLINT AS save_ordinal, s.register_address::UINTEGER AS register_address,
       s.size::UINTEGER AS bytes, s.address, r.read_id // 65536 AS restore_seq, coalesce(r.restores, 0)::INTEGER AS restores,
       e.read_id // 65536 AS exposed_seq
FROM saved s LEFT JOIN (SELECT store_id, max(read_id) AS read_id, count(*) AS restores FROM restore GROUP BY store_id) r USING (store_id)
LEFT JOIN (SELECT store_id, min(read_id) AS read_id FROM exposure GROUP BY store_id) e USING (store_id);
CREATE TEMP TABLE quiet AS SELECT read_id, read_code FROM saved ANTI JOIN exposure USING (store_id);
DROP TABLE saved;
CREATE TEMP TABLE alias_code AS SELECT DISTINCT write_code AS code_id FROM restore;
CREATE TEMP TABLE dynamic_piece AS
SELECT i.*, w.slot AS fed_slot, count(*) OVER (PARTITION BY i.code_id) > 1 OR i.code_id IN (SELECT read_code FROM quiet) AS is_alone
FROM register_piece i LEFT JOIN access_code w ON w.code_id = i.fed_code
WHERE i.fed_code IS NULL OR i.fed_code IN (FROM alias_code);
CREATE TEMP TABLE unit AS
SELECT row_number() OVER ()::INTEGER AS unit_id, *
FROM (SELECT part_id, cell, fed_code, fed_slot, min(slot) AS first_slot FROM dynamic_piece GROUP BY ALL);
CREATE TEMP TABLE unit_read AS
SELECT u.unit_id, i.code_id, i.slot, i.first, i.bytes, i.mask, i.is_alone
FROM dynamic_piece i JOIN unit u ON u.part_id = i.part_id AND u.cell = i.cell AND u.fed_code IS NOT DISTINCT FROM i.fed_code;
CREATE TEMP TABLE unit_sum AS
SELECT unit_id, min(code_id) AS code_id, sum(bytes)::BIGINT AS bytes, count(*) AS transfers, bit_or(mask) AS mask
FROM unit_read WHERE NOT is_alone GROUP BY unit_id;
CREATE TEMP TABLE fed AS
SELECT i.part_id, a.function_id, i.fed_code AS writer_code, i.code_id AS reader_code, sum(i.bytes)::BIGINT AS bytes
FROM register_piece i JOIN access_code a USING (code_id)
WHERE i.fed_code IS NOT NULL AND i.fed_code NOT IN (FROM alias_code) GROUP BY ALL;
CREATE TEMP TABLE own_read AS
SELECT fed_code AS writer_code, cell, bit_or(mask) AS mask
FROM register_piece WHERE fed_code IS NOT NULL AND fed_code NOT IN (FROM alias_code) GROUP BY ALL;
CREATE TEMP TABLE part_sum AS
SELECT part_id, function_id, bytes, transfers, unique_bytes
FROM (SELECT part_id, function_id, sum(bytes)::BIGINT AS bytes, count(*) AS transfers FROM fed GROUP BY ALL)
JOIN (SELECT a.part_id, sum(bit_count(o.mask))::BIGINT AS unique_bytes FROM own_read o JOIN access_code a ON a.code_id = o.writer_code GROUP BY ALL) USING (part_id);
-- Now the run once more with them: what its windows fill.
DELETE FROM held;
DELETE FROM held_register;
CREATE TEMP TABLE flow_part (
    writer_call_id INTEGER, reader_call_id INTEGER, writer_function_id INTEGER, reader_function_id INTEGER, via VARCHAR,
    bytes BIGINT, unique_bytes BIGINT, transfers BIGINT);
CREATE TEMP TABLE instruction_part (
    writer_instruction_id INTEGER, reader_instruction_id INTEGER, writer_function_id INTEGER, via VARCHAR, bytes BIGINT, transfers BIGINT);
CREATE TEMP TABLE cell_part (
    writer_function_id INTEGER, reader_function_id INTEGER, via VARCHAR, thread_id INTEGER, place UBIGINT, mask UBIGINT);
CREATE TEMP TABLE part_count (part_id INTEGER, thread_id INTEGER, runs BIGINT);
