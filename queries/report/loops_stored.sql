-- Loops that the trace's own control-flow graph has.
-- reads: loop, loop_block, basic_block, function_symbol, source_file
-- function_id, function, place (file:first-last line of its blocks in the header's file, else the header's address), depth (loops around it), entries,
-- iterations, steps (those of inner loops included, those of what they call not)
WITH line AS (
    SELECT l.loop_id, h.file_id, min(b.line) AS first, max(b.line) AS last
    FROM loop l JOIN basic_block h ON h.basic_block_id = l.header_block_id JOIN loop_block m ON m.loop_id = l.loop_id
    JOIN basic_block b ON b.basic_block_id = m.basic_block_id AND b.file_id = h.file_id
    GROUP BY l.loop_id, h.file_id)
SELECT l.function_id, s.name AS function,
       coalesce(f.path || ':' || n.first || CASE WHEN n.last > n.first THEN '-' || n.last ELSE '' END, CASE WHEN h.address IS NOT NULL THEN printf('0x%x', h.address) END, '?') AS place,
       l.depth, l.entries, l.iterations, l.steps
FROM loop l JOIN basic_block h ON h.basic_block_id = l.header_block_id JOIN function_symbol s ON s.function_id = l.function_id
LEFT JOIN line n ON n.loop_id = l.loop_id LEFT JOIN source_file f ON f.file_id = n.file_id
ORDER BY l.steps DESC NULLS LAST, s.name, place, l.depth;
