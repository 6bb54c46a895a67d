-- Last writers of registers: the cells that runs of parts read, restores seen through.
-- alone_read: those of them that are looked at one by one, without the reads by saves that nothing exposes
-- reads: part_run, part_write, unit, unit_read, quiet, alias, alias_code, held_register
-- base, thread_id, unit_id, cell, call_id (of the reader), write_id, writer_call_id, writer_code (NULL: no step wrote it)
-- each: window
CREATE OR REPLACE TEMP TABLE window_alias AS
SELECT * FROM alias WHERE id >= getvariable('lo') * 65536 AND id < getvariable('hi') * 65536;
CREATE OR REPLACE TEMP TABLE register_write AS
SELECT p.thread_id, w.cell, p.base + w.slot AS id, p.base + w.slot AS write_id, p.call_id AS writer_call_id, w.code_id AS writer_code
FROM part_run p JOIN (FROM part_write ANTI JOIN alias_code USING (code_id)) w USING (part_id)
UNION ALL
SELECT p.thread_id, w.cell, p.base + w.slot, CASE WHEN a.id IS NULL THEN p.base + w.slot ELSE a.write_id END,
       CASE WHEN a.id IS NULL THEN p.call_id ELSE a.writer_call_id END, CASE WHEN a.id IS NULL THEN w.code_id ELSE a.writer_code END
FROM part_run p JOIN (FROM part_write SEMI JOIN alias_code USING (code_id)) w USING (part_id)
LEFT JOIN window_alias a ON a.id = p.base + w.slot AND a.cell = w.cell
UNION ALL SELECT thread_id, cell, 0, write_id, writer_call_id, writer_code FROM held_register;
CREATE OR REPLACE TEMP TABLE register_read AS
SELECT r.base, r.thread_id, r.unit_id, r.cell, r.call_id, w.write_id, w.writer_call_id, w.writer_code
FROM (SELECT p.base, p.thread_id, p.call_id, u.unit_id, u.cell, p.base + u.first_slot AS id, p.thread_id::BIGINT * 65536 + u.cell AS place
      FROM part_run p JOIN (FROM unit WHERE fed_code IS NULL) u USING (part_id)) r
ASOF LEFT JOIN (SELECT *, thread_id::BIGINT * 65536 + cell AS place FROM register_write) w ON w.place = r.place AND r.id > w.id
UNION ALL
SELECT p.base, p.thread_id, u.unit_id, u.cell, p.call_id, CASE WHEN a.id IS NULL THEN p.base + u.fed_slot ELSE a.write_id END,
       CASE WHEN a.id IS NULL THEN p.call_id ELSE a.writer_call_id END, CASE WHEN a.id IS NULL THEN u.fed_code ELSE a.writer_code END
FROM part_run p JOIN (FROM unit WHERE fed_code IS NOT NULL) u USING (part_id)
LEFT JOIN window_alias a ON a.id = p.base + u.fed_slot AND a.cell = u.cell;
-- Reads that are looked at one by one: read_id, thread_id, cell, code_id, first, bytes, mask, with the writer.
CREATE OR REPLACE TEMP TABLE alone_read AS
SELECT r.base + u.slot AS read_id, r.thread_id, r.cell, r.call_id, u.code_id, u.first, u.bytes, u.mask, r.write_id, r.writer_call_id, r.writer_code
FROM register_read r JOIN (FROM unit_read WHERE is_alone) u USING (unit_id)
ANTI JOIN (SELECT read_id FROM quiet WHERE read_id >= getvariable('lo') * 65536 AND read_id < getvariable('hi') * 65536) q ON q.read_id = r.base + u.slot;
CREATE OR REPLACE TEMP TABLE held_register AS
SELECT thread_id, cell, w.write_id, w.call_id AS writer_call_id, w.code_id AS writer_code
FROM (SELECT thread_id, cell, arg_max({write_id: write_id, call_id: writer_call_id, code_id: writer_code}, id) AS w
      FROM register_write GROUP BY thread_id, cell);
