-- What a window adds to dataflow between call instances and between instructions, and to the bytes between functions.
-- reads: located_read, seen, held, alias, derived_call
-- flow_part: as dataflow; instruction_part: as instruction_edge; cell_part: writer_function_id, reader_function_id, via and the bytes of a word
-- seen: versions of bytes that call instances have read and may read again, so that they count once
-- each: window
CREATE OR REPLACE TEMP TABLE version_read AS
SELECT is_register, owner, word, write_id, reader_call_id AS call_id, writer_call_id, writer_function_id, reader_function_id, via,
       bit_or((((1 << high) - 1) & ~((1 << low) - 1))::UTINYINT) AS mask
FROM located_read GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE fresh AS
SELECT v.writer_call_id, v.call_id AS reader_call_id, v.writer_function_id, v.reader_function_id, v.via,
       sum(bit_count(v.mask & ~coalesce(s.mask, 0)::UTINYINT)) AS unique_bytes
FROM version_read v LEFT JOIN seen s ON s.is_register = v.is_register AND s.owner = v.owner AND s.word = v.word
    AND s.write_id = v.write_id AND s.call_id = v.call_id
GROUP BY ALL;
INSERT INTO flow_part
SELECT d.*, f.unique_bytes::BIGINT, t.transfers
FROM (SELECT writer_call_id, reader_call_id, writer_function_id, reader_function_id, via, sum(high - low)::BIGINT AS bytes FROM located_read GROUP BY ALL) d
JOIN fresh f ON f.writer_call_id IS NOT DISTINCT FROM d.writer_call_id AND f.reader_call_id = d.reader_call_id
    AND f.writer_function_id = d.writer_function_id AND f.via = d.via
JOIN (SELECT writer_call_id, reader_call_id, writer_function_id, via, count(*) AS transfers
      FROM (SELECT DISTINCT writer_call_id, reader_call_id, writer_function_id, via, write_id, read_id FROM located_read) GROUP BY ALL) t
    ON t.writer_call_id IS NOT DISTINCT FROM d.writer_call_id AND t.reader_call_id = d.reader_call_id
    AND t.writer_function_id = d.writer_function_id AND t.via = d.via;
INSERT INTO instruction_part
SELECT writer_instruction_id, reader_instruction_id, writer_function_id, via, sum(bytes)::BIGINT, count(*)
FROM (SELECT writer_instruction_id, reader_instruction_id, writer_function_id, via, write_id, read_id, sum(high - low) AS bytes FROM located_read GROUP BY ALL)
GROUP BY ALL;
INSERT INTO cell_part
SELECT writer_function_id, reader_function_id, via, is_register, owner, word, bit_or(mask) FROM version_read GROUP BY ALL;
-- Versions that can be read again, by instances that can read again.
CREATE OR REPLACE TEMP TABLE seen AS
WITH every AS (
    SELECT is_register, owner, word, write_id, call_id, mask FROM seen
    UNION ALL SELECT is_register, owner, word, write_id, call_id, mask FROM version_read),
live AS (
    SELECT is_register, owner, word, writer.write_id AS write_id FROM held
    -- Those that a restore will bring back.
    UNION SELECT true, owner, word, writer.write_id FROM alias WHERE id >= getvariable('hi') * 65536)
SELECT e.is_register, e.owner, e.word, e.write_id, e.call_id, bit_or(e.mask) AS mask
FROM every e JOIN derived_call c USING (call_id)
LEFT JOIN live l ON l.is_register = e.is_register AND l.owner = e.owner AND l.word = e.word AND l.write_id = e.write_id
WHERE (c.ends_before IS NULL OR c.ends_before >= getvariable('hi')) AND (e.write_id = 0 OR l.write_id IS NOT NULL)
GROUP BY ALL;
