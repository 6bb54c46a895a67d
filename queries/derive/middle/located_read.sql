-- Reads of memory of a window with the kind of memory, and the pseudo-function of bytes that no step wrote.
-- reads: byte_read, function_symbol, section, region, meta
-- as byte_read with via, source_id (function)
-- each: window
CREATE OR REPLACE TEMP TABLE located_read AS
WITH place AS (
    SELECT t.word, t.low, t.word * 8 + t.low AS byte, CASE WHEN byte - s.address < s.size THEN '<image ' || s.name || '>' END AS section,
           CASE WHEN byte - s.address < s.size THEN CASE WHEN s.writable THEN 'global' ELSE 'constant' END ELSE r.via END AS via
    FROM (SELECT DISTINCT word, low, word * 8 + low AS at FROM byte_read) t
    ASOF LEFT JOIN section s ON t.at >= s.address
    ASOF LEFT JOIN region r ON t.at >= r.first_address),
named AS (
    SELECT word, low, via, CASE WHEN section IS NOT NULL THEN section
                WHEN via = 'stack' AND byte >= (SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer') THEN '<stack start>'
                WHEN via = 'stack' THEN '<uninitialised>' ELSE '<input>' END AS source
    FROM place)
SELECT b.*, n.via, CASE WHEN b.write_id IS NULL THEN f.function_id END AS source_id
FROM byte_read b JOIN named n ON n.word = b.word AND n.low = b.low
LEFT JOIN (SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo') f ON f.name = n.source;
