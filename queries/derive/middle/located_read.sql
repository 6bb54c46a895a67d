-- Every data read of a window with the instances, functions and place of both ends.
-- reads: byte_read, instruction, function_symbol, section, region, meta
-- read_id, write_id (0: no step), is_register, owner, word, low, high, address, via, and of both ends call_id, function_id, instruction_id
-- each: window
CREATE OR REPLACE TEMP TABLE located_read AS
WITH located AS (
    SELECT read_id, coalesce(writer.write_id, 0) AS write_id, is_register, owner, word, low, high, word * 8 + low AS address,
           call_id AS reader_call_id, instruction_id AS reader_instruction_id, writer.call_id AS writer_call_id,
           writer.instruction_id AS writer_instruction_id, CASE WHEN NOT is_register THEN word * 8 + low END AS byte
    FROM byte_read),
place AS (
    SELECT t.byte, CASE WHEN t.byte - s.address < s.size THEN '<image ' || s.name || '>' END AS section,
           CASE WHEN t.byte - s.address < s.size THEN CASE WHEN s.writable THEN 'global' ELSE 'constant' END ELSE r.via END AS via
    FROM (SELECT DISTINCT byte FROM located WHERE byte IS NOT NULL) t
    ASOF LEFT JOIN section s ON t.byte >= s.address
    ASOF LEFT JOIN region r ON t.byte >= r.first_address),
named AS (
    SELECT byte, via, CASE WHEN section IS NOT NULL THEN section
                WHEN via = 'stack' AND byte >= (SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer') THEN '<stack start>'
                WHEN via = 'stack' THEN '<uninitialised>' ELSE '<input>' END AS nobody
    FROM place),
sourced AS (
    SELECT l.* EXCLUDE (byte), coalesce(n.via, 'register') AS via,
           CASE WHEN l.write_id = 0 THEN coalesce(n.nobody, '<initial registers>') END AS source
    FROM located l LEFT JOIN named n ON n.byte = l.byte)
SELECT l.* EXCLUDE (source), r.function_id AS reader_function_id, coalesce(w.function_id, s.function_id) AS writer_function_id
FROM sourced l JOIN instruction r ON r.instruction_id = l.reader_instruction_id
LEFT JOIN instruction w ON w.instruction_id = l.writer_instruction_id
LEFT JOIN (SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo') s ON s.name = l.source;
