-- Last writers of memory: every read of a window by adjacent bytes that one write made.
-- reads: word_access, held, border
-- read_id, word, low, high, size, code_id, call_id (of the reader), write_id, writer_call_id, writer_code (NULL: no step wrote the bytes)
-- atom: accesses by the parts of a word that writes and borders cut it into; place: address of the part's first byte
-- each: window
CREATE OR REPLACE TEMP TABLE before AS
SELECT h.* FROM held h SEMI JOIN word_access a ON a.word = h.word;
-- Words that are more than one part. Bit n: a part begins at byte n. Reads cut nothing.
CREATE OR REPLACE TEMP TABLE cut AS
SELECT word, bit_or(mask)::INTEGER & 255 | 1 AS mask
FROM (SELECT word, (1 << low) | (1 << high) AS mask FROM word_access WHERE is_write AND (low > 0 OR high < 8)
      UNION ALL SELECT word, (1 << low) | (1 << high) FROM before WHERE low > 0 OR high < 8
      UNION ALL SELECT word, mask FROM border)
GROUP BY word;
CREATE OR REPLACE TEMP TABLE atom AS
WITH every AS (
    SELECT id, is_write, word, low, high, size, code_id, call_id, id AS write_id FROM word_access
    UNION ALL
    -- What was there before comes first.
    SELECT 0, true, word, low, high, NULL, writer_code, writer_call_id, write_id FROM before),
masked AS (SELECT e.*, coalesce(c.mask, 1) AS mask FROM every e LEFT JOIN cut c USING (word)),
piece AS (
    SELECT low, high, mask, part, greatest(low, part) AS first, least(high, behind) AS last
    FROM (SELECT low, high, mask, part, lead(part, 1, 8) OVER (PARTITION BY low, high, mask ORDER BY part) AS behind
          FROM (SELECT low, high, mask, unnest(list_filter(range(8), lambda i: (mask >> i) & 1 = 1))::INTEGER AS part
                FROM range(0, 8) l(low), range(1, 9) h(high), (SELECT DISTINCT mask FROM cut) WHERE low < high))
    WHERE part < high AND behind > low)
SELECT id, is_write, word, low, high, size, code_id, call_id, write_id, word * 8 AS place FROM masked WHERE mask = 1
UNION ALL
SELECT m.id, m.is_write, m.word, p.first::INTEGER, p.last::INTEGER, m.size, m.code_id, m.call_id, m.write_id, m.word * 8 + p.part
FROM masked m JOIN piece p ON p.low = m.low AND p.high = m.high AND p.mask = m.mask
WHERE m.mask <> 1;
CREATE OR REPLACE TEMP TABLE byte_read AS
SELECT r.id AS read_id, r.word, r.low, r.high, r.size, r.code_id, r.call_id, w.write_id, w.call_id AS writer_call_id, w.code_id AS writer_code
FROM (FROM atom WHERE NOT is_write) r
ASOF LEFT JOIN (SELECT place, id, write_id, call_id, code_id FROM atom WHERE is_write) w ON w.place = r.place AND r.id > w.id;
CREATE OR REPLACE TEMP TABLE held AS
SELECT h.* FROM held h ANTI JOIN word_access a ON a.word = h.word
UNION ALL
SELECT word, low, high, w.write_id, w.call_id, w.code_id
FROM (SELECT word, low, high, arg_max({write_id: write_id, call_id: call_id, code_id: code_id}, id) AS w
      FROM atom WHERE is_write GROUP BY word, low, high);
