-- The same by the words of eight bytes that an access touches.
-- reads: window_access
-- id, is_write, is_register, owner, word, low, high (from byte `low` of the word up to and without `high`), writer (write_id, call_id,
-- instruction_id; NULL: a read), call_id, instruction_id
-- each: window
CREATE OR REPLACE TEMP TABLE word_access AS
WITH access AS (SELECT *, (address % 8)::INTEGER AS low, (address % 8)::INTEGER + size::INTEGER AS high FROM window_access)
SELECT id, is_write, is_register, owner, address // 8 AS word, low, high,
       CASE WHEN is_write THEN {write_id: id, call_id: call_id, instruction_id: instruction_id} END AS writer, call_id, instruction_id
FROM access WHERE high <= 8
UNION ALL
SELECT id, is_write, is_register, owner, (address // 8 + k) % 2305843009213693952, CASE WHEN k = 0 THEN low ELSE 0 END, least(high - 8 * k, 8),
       CASE WHEN is_write THEN {write_id: id, call_id: call_id, instruction_id: instruction_id} END, call_id, instruction_id
FROM access, unnest(range((high + 7) // 8)) AS t(k) WHERE high > 8;
