-- Accesses of a window to memory, by the words of eight bytes that they touch.
-- reads: part_run, access_code
-- id (seq * 65536 + ordinal), is_write, word, low, high (from byte `low` of the word up to and without `high`), size (of the access), code_id, call_id
-- each: window
CREATE OR REPLACE TEMP TABLE word_access AS
WITH access AS (
    SELECT p.base + m.slot AS id, m.is_write, p.address[m.memory_index + 1] AS address, m.size, m.code_id, p.call_id
    FROM part_run p JOIN (FROM access_code WHERE NOT is_register) m USING (part_id)),
placed AS (SELECT *, (address % 8)::INTEGER AS low, (address % 8)::INTEGER + size AS high FROM access)
SELECT id, is_write, address // 8 AS word, low, high, size, code_id, call_id FROM placed WHERE high <= 8
UNION ALL
SELECT id, is_write, (address // 8 + k) % 2305843009213693952, CASE WHEN k = 0 THEN low ELSE 0 END, least(high - 8 * k, 8), size, code_id, call_id
FROM placed, unnest(range((high + 7) // 8)) AS t(k) WHERE high > 8;
