-- Stores of a window that may be saves, who wrote the registers that they store, and loads that may be their restores.
-- reads: part_run, store_code, reload_code, register_piece, part_write, held_register, access_code, derived_call, held, word_access
-- window_store: store_id, read_id (of the register), read_code, register_address, size, address, value, thread_id, call_id, ends_before
-- window_cell: store_id, call_id, thread_id, cell, write_id, writer_call_id, writer_code
-- word_access: without the words that no such store wrote
-- each: window
CREATE OR REPLACE TEMP TABLE window_store AS
SELECT p.base + s.slot AS store_id, p.base + s.read_slot AS read_id, s.read_code, s.data_register AS register_address, s.size,
       p.address[s.memory_index + 1] AS place, p.value[s.value_index + 1] AS value, p.thread_id, p.call_id, c.ends_before, p.base
FROM part_run p JOIN store_code s USING (part_id) JOIN derived_call c USING (call_id)
WHERE CASE WHEN c.frame_top IS NULL THEN s.is_stack_relative
           ELSE place::HUGEINT + s.size <= c.frame_top AND place::HUGEINT >= c.frame_top::HUGEINT - 8388608 END;
CREATE OR REPLACE TEMP TABLE register_write AS
SELECT p.thread_id, w.cell, p.base + w.slot AS id, p.base + w.slot AS write_id, p.call_id AS writer_call_id, w.code_id AS writer_code
FROM part_run p JOIN (FROM part_write SEMI JOIN (FROM register_piece SEMI JOIN store_code ON read_code = code_id) USING (cell)) w USING (part_id)
UNION ALL SELECT thread_id, cell, 0, write_id, writer_call_id, writer_code FROM held_register;
CREATE OR REPLACE TEMP TABLE window_cell AS
WITH stored AS (SELECT s.*, i.cell, i.fed_code FROM window_store s JOIN register_piece i ON i.code_id = s.read_code)
SELECT s.store_id, s.call_id, s.thread_id, s.cell, w.write_id, w.writer_call_id, w.writer_code
FROM (FROM stored WHERE fed_code IS NULL) s
ASOF LEFT JOIN register_write w ON w.thread_id = s.thread_id AND w.cell = s.cell AND s.read_id > w.id
UNION ALL
SELECT s.store_id, s.call_id, s.thread_id, s.cell, s.base + w.slot, s.call_id, s.fed_code
FROM stored s JOIN access_code w ON w.code_id = s.fed_code;
CREATE OR REPLACE TEMP TABLE held_register AS
SELECT thread_id, cell, w.write_id, w.call_id AS writer_call_id, w.code_id AS writer_code
FROM (SELECT thread_id, cell, arg_max({write_id: write_id, call_id: writer_call_id, code_id: writer_code}, id) AS w
      FROM register_write GROUP BY thread_id, cell);
-- A store of what its own instance wrote, but by a load that may be a restore, is none.
CREATE OR REPLACE TEMP TABLE window_store AS
SELECT s.store_id, s.read_id, s.read_code, s.register_address, s.size, s.place AS address, s.value, s.thread_id, s.call_id, s.ends_before
FROM window_store s
ANTI JOIN (FROM window_cell WHERE writer_call_id = call_id AND writer_code NOT IN (SELECT write_code FROM reload_code WHERE write_code IS NOT NULL)) n
    ON n.store_id = s.store_id;
CREATE OR REPLACE TEMP TABLE word_access AS
WITH stored AS (
    SELECT address // 8 AS word FROM window_store
    UNION SELECT (address + size - 1) // 8 FROM window_store
    UNION SELECT ((address // 8 + k) % 2305843009213693952)::UBIGINT FROM window_store, unnest(range(1, size // 8)) AS t(k) WHERE size > 8
    UNION SELECT word FROM held)
SELECT a.* FROM word_access a SEMI JOIN stored USING (word);
