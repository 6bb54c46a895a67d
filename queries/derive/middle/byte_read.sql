-- Last writers: every data read of a window by adjacent bytes that one write made.
-- reads: word_access, held, border
-- read_id, is_register, owner, word, low, high, call_id, instruction_id (of the reader), writer (write_id, call_id, instruction_id; NULL: no
-- step wrote the bytes)
-- atom: accesses by the parts of a word that writes and borders cut it into; part: the first byte of the part
-- each: window
CREATE OR REPLACE TEMP TABLE touched AS
SELECT is_register, owner, word, CASE WHEN NOT is_register THEN word END AS place,
       bit_or(CASE WHEN is_write THEN (1 << low) | (1 << high) ELSE 0 END::USMALLINT) AS mask
FROM word_access GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE before AS
SELECT h.* FROM held h SEMI JOIN touched t ON t.is_register = h.is_register AND t.owner = h.owner AND t.word = h.word;
CREATE OR REPLACE TEMP TABLE atom AS
WITH cut AS (
    -- Bit n: a part begins at byte n. Reads cut nothing.
    SELECT is_register, owner, word, (bit_or(mask) | 1)::USMALLINT AS mask
    FROM (SELECT is_register, owner, word, mask FROM touched
          UNION ALL SELECT t.is_register, t.owner, t.word, b.mask FROM touched t JOIN border b ON b.word = t.place
          UNION ALL SELECT is_register, owner, word, ((1 << low) | (1 << high))::USMALLINT FROM before)
    GROUP BY ALL),
every AS (
    SELECT id, is_write, is_register, owner, word, low, high, writer, call_id, instruction_id FROM word_access
    UNION ALL
    -- What was there before comes first.
    SELECT 0, true, is_register, owner, word, low, high, writer, NULL, NULL FROM before),
masked AS (
    SELECT e.*, c.mask & 255 AS mask
    FROM every e JOIN cut c ON c.is_register = e.is_register AND c.owner = e.owner AND c.word = e.word),
piece AS (
    SELECT low, high, mask, part, greatest(low, part) AS first, least(high, behind) AS last
    FROM (SELECT low, high, mask, part, lead(part, 1, 8) OVER (PARTITION BY low, high, mask ORDER BY part) AS behind
          FROM (SELECT low, high, mask, unnest(list_filter(range(8), i -> (mask >> i) & 1 = 1))::INTEGER AS part
                FROM (SELECT DISTINCT low, high, mask FROM masked WHERE mask <> 1)))
    WHERE part < high AND behind > low)
SELECT * EXCLUDE (mask), 0 AS part FROM masked WHERE mask = 1
UNION ALL
SELECT m.id, m.is_write, m.is_register, m.owner, m.word, p.first, p.last, m.writer, m.call_id, m.instruction_id, p.part
FROM masked m JOIN piece p ON p.low = m.low AND p.high = m.high AND p.mask = m.mask
WHERE m.mask <> 1;
CREATE OR REPLACE TEMP TABLE byte_read AS
SELECT r.id AS read_id, r.is_register, r.owner, r.word, r.low, r.high, r.call_id, r.instruction_id, w.writer
FROM (FROM atom WHERE NOT is_write) r
ASOF LEFT JOIN (FROM atom WHERE is_write) w
    ON w.is_register = r.is_register AND w.owner = r.owner AND w.word = r.word AND w.part = r.part AND r.id > w.id;
CREATE OR REPLACE TEMP TABLE held AS
SELECT h.* FROM held h ANTI JOIN touched t ON t.is_register = h.is_register AND t.owner = h.owner AND t.word = h.word
UNION ALL
SELECT is_register, owner, word, low, high, arg_max(writer, id) FROM atom WHERE is_write GROUP BY is_register, owner, word, low, high;
