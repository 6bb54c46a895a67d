-- Reads of memory of a window with the kind of memory, and the pseudo-function of bytes that no step wrote.
-- reads: byte_read, memory_event, interval, interval_section, interval_mapping, touched_region, kernel_code, function_symbol, meta
-- as byte_read with version (write_id, of what a mapping cleared the mapping's, else 0), via, source_id (function)
-- each: window
CREATE OR REPLACE TEMP TABLE located_read AS
WITH read AS (
    SELECT r.*, coalesce(e.number, 0) AS epoch, r.write_id % 65536 BETWEEN 32768 AND 49151 AS is_cleared
    FROM byte_read r ASOF LEFT JOIN memory_event e ON r.read_id > e.id),
place AS (
    SELECT t.word, t.low, t.epoch, t.byte, i.interval_id, s.name AS section, s.via
    FROM (SELECT DISTINCT word, low, epoch, word * 8 + low AS byte FROM read) t ASOF JOIN interval i ON t.byte >= i.first
    ASOF LEFT JOIN interval_section s ON s.interval_id = i.interval_id AND t.epoch >= s.since),
mapped AS (
    SELECT p.*, coalesce(m.since, 0) AS since
    FROM place p ASOF LEFT JOIN interval_mapping m ON m.interval_id = p.interval_id AND p.epoch >= m.since),
named AS (
    SELECT m.word, m.low, m.epoch, coalesce(m.via, r.via, 'heap') AS via,
           CASE WHEN section IS NOT NULL THEN section
                WHEN r.via = 'stack' AND byte >= (SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer') THEN '<stack start>'
                WHEN r.via = 'stack' THEN '<uninitialised>' ELSE coalesce((SELECT value FROM meta WHERE key = 'unwritten'), '<input>') END AS source
    FROM mapped m LEFT JOIN touched_region r ON r.page = m.byte // 4096 AND r.since = m.since)
SELECT b.read_id, b.word, b.low, b.high, b.size, b.code_id, b.call_id, CASE WHEN NOT is_cleared THEN b.write_id END AS write_id,
       coalesce(b.write_id, 0) AS version, b.writer_call_id, CASE WHEN k.function_id IS NULL THEN b.writer_code END AS writer_code, n.via,
       CASE WHEN b.write_id IS NULL OR is_cleared THEN f.function_id ELSE k.function_id END AS source_id
FROM read b JOIN named n ON n.word = b.word AND n.low = b.low AND n.epoch = b.epoch
LEFT JOIN (SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo') f ON f.name = n.source
LEFT JOIN kernel_code k ON k.code_id = b.writer_code;
