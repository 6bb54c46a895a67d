-- What a window adds to dataflow between call instances and between instructions, and to the bytes between functions.
-- reads: located_read, register_read, alone_read, unit_read, unit_sum, part_run, part_sum, own_read, seen, held, held_register, alias, access_code,
-- derived_call, function_symbol
-- flow_part: as dataflow; instruction_part: as instruction_edge; cell_part: writer_function_id, reader_function_id, via and the bytes of a word or cell
-- part_count: part_id, thread_id, runs; seen: versions of bytes that call instances have read and may read again, so that they count once
-- each: window
SET VARIABLE initial = (SELECT max(function_id) FROM function_symbol WHERE kind = 'pseudo' AND name = '<initial registers>');
-- A write that feeds several pieces of a read is one transfer.
CREATE OR REPLACE TEMP TABLE pair AS
SELECT writer_call_id, call_id, writer_code, code_id, via, source_id, (high - low)::BIGINT AS bytes FROM located_read WHERE high - low = size
UNION ALL
SELECT any_value(writer_call_id), any_value(call_id), any_value(writer_code), any_value(code_id), via, source_id, sum(high - low)::BIGINT
FROM located_read WHERE high - low < size GROUP BY read_id, write_id, via, source_id
UNION ALL
SELECT any_value(writer_call_id), any_value(call_id), any_value(writer_code), any_value(code_id), 'register',
       CASE WHEN write_id IS NULL THEN getvariable('initial') END, sum(bytes)::BIGINT
FROM alone_read GROUP BY read_id, write_id;
CREATE OR REPLACE TEMP TABLE version_read AS
WITH every AS (
    SELECT 0 AS thread_id, word AS place, version AS write_id, call_id, writer_call_id, writer_code, code_id, source_id, via,
           ((1 << high) - (1 << low))::UBIGINT AS mask
    FROM located_read
    UNION ALL
    SELECT r.thread_id, r.cell, coalesce(r.write_id, 0), r.call_id, r.writer_call_id, r.writer_code, u.code_id,
           CASE WHEN r.write_id IS NULL THEN getvariable('initial') END, 'register', u.mask
    FROM register_read r JOIN unit_sum u USING (unit_id)
    UNION ALL
    SELECT thread_id, cell, coalesce(write_id, 0), call_id, writer_call_id, writer_code, code_id,
           CASE WHEN write_id IS NULL THEN getvariable('initial') END, 'register', mask
    FROM alone_read),
version AS (
    SELECT thread_id, place, write_id, call_id, via, any_value(writer_call_id) AS writer_call_id, any_value(writer_code) AS writer_code,
           any_value(code_id) AS code_id, source_id, bit_or(mask) AS mask
    FROM every GROUP BY thread_id, place, write_id, call_id, via, source_id)
SELECT v.thread_id, v.place, v.write_id, v.call_id, v.via, v.writer_call_id, v.writer_code, v.mask,
       coalesce(w.function_id, v.source_id) AS writer_function_id, r.function_id AS reader_function_id
FROM version v JOIN access_code r ON r.code_id = v.code_id LEFT JOIN access_code w ON w.code_id = v.writer_code;
INSERT INTO flow_part
WITH pair_sum AS (
    SELECT writer_call_id, call_id, via, source_id, any_value(writer_code) AS writer_code, any_value(code_id) AS code_id, sum(bytes)::BIGINT AS bytes,
           count(*) AS transfers
    FROM pair GROUP BY writer_call_id, call_id, via, source_id
    UNION ALL
    SELECT r.writer_call_id, r.call_id, 'register', CASE WHEN r.write_id IS NULL THEN getvariable('initial') END, any_value(r.writer_code),
           any_value(u.code_id), sum(u.bytes)::BIGINT, sum(u.transfers)::BIGINT
    FROM register_read r JOIN unit_sum u USING (unit_id) GROUP BY r.writer_call_id, r.call_id, r.write_id IS NULL),
every AS (
    SELECT s.writer_call_id, s.call_id AS reader_call_id, coalesce(w.function_id, s.source_id) AS writer_function_id,
           r.function_id AS reader_function_id, s.via, s.bytes, 0 AS unique_bytes, s.transfers
    FROM pair_sum s JOIN access_code r ON r.code_id = s.code_id LEFT JOIN access_code w ON w.code_id = s.writer_code
    UNION ALL
    SELECT v.writer_call_id, v.call_id, v.writer_function_id, v.reader_function_id, v.via, 0,
           bit_count(v.mask & ~coalesce(s.mask, 0::UBIGINT) & ~coalesce(o.mask, 0::UBIGINT)), 0
    FROM version_read v
    LEFT JOIN seen s ON s.thread_id = v.thread_id AND s.place = v.place AND s.write_id = v.write_id AND s.call_id = v.call_id
    -- What the part that wrote it read of it, it has counted.
    LEFT JOIN own_read o ON o.writer_code = CASE WHEN v.writer_call_id = v.call_id AND v.via = 'register' THEN v.writer_code END AND o.cell = v.place
    UNION ALL
    SELECT p.call_id, p.call_id, s.function_id, s.function_id, 'register', p.runs * s.bytes, p.runs * s.unique_bytes, p.runs * s.transfers
    FROM (SELECT part_id, call_id, count(*) AS runs FROM part_run GROUP BY ALL) p JOIN part_sum s USING (part_id))
SELECT writer_call_id, reader_call_id, writer_function_id, reader_function_id, via, sum(bytes)::BIGINT, sum(unique_bytes)::BIGINT, sum(transfers)::BIGINT
FROM every GROUP BY ALL;
INSERT INTO instruction_part
WITH every AS (
    SELECT writer_code, code_id, via, source_id, sum(bytes)::BIGINT AS bytes, count(*) AS transfers FROM pair GROUP BY ALL
    UNION ALL
    SELECT r.writer_code, u.code_id, 'register', CASE WHEN r.writer_code IS NULL THEN getvariable('initial') END, r.runs * u.bytes, r.runs
    FROM (SELECT unit_id, writer_code, count(*) AS runs FROM register_read GROUP BY ALL) r JOIN (FROM unit_read WHERE NOT is_alone) u USING (unit_id))
SELECT w.instruction_id, r.instruction_id, coalesce(w.function_id, e.source_id), e.via, sum(e.bytes)::BIGINT, sum(e.transfers)::BIGINT
FROM every e JOIN access_code r ON r.code_id = e.code_id LEFT JOIN access_code w ON w.code_id = e.writer_code
WHERE r.instruction_id IS NOT NULL GROUP BY ALL;
INSERT INTO cell_part
SELECT writer_function_id, reader_function_id, via, thread_id, place, bit_or(mask) FROM version_read GROUP BY ALL;
INSERT INTO part_count SELECT part_id, thread_id, count(*) FROM part_run GROUP BY ALL;
-- Versions that can be read again, by instances that can read again.
CREATE OR REPLACE TEMP TABLE seen AS
WITH every AS (
    SELECT thread_id, place, write_id, call_id, mask FROM seen
    UNION ALL SELECT thread_id, place, write_id, call_id, mask FROM version_read),
live AS (
    SELECT word AS place, write_id FROM held
    UNION SELECT cell, write_id FROM held_register
    -- Those that a restore will bring back.
    UNION SELECT cell, write_id FROM alias WHERE id >= getvariable('hi') * 65536)
SELECT e.thread_id, e.place, e.write_id, e.call_id, bit_or(e.mask) AS mask
FROM every e JOIN derived_call c USING (call_id)
LEFT JOIN live l ON l.place = e.place AND l.write_id = e.write_id
WHERE (c.ends_before IS NULL OR c.ends_before >= getvariable('hi')) AND (e.write_id = 0 OR l.write_id IS NOT NULL)
GROUP BY ALL;
