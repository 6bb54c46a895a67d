-- Every communication from one function to another, one row each, in the order of the reads.
-- reads: communication, block_run, block_step, instruction, source_file, variable
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- param limit BIGINT: rows at most
-- write_seq, write_text, write_line, read_seq, read_text, read_line, space, address, variable, bytes
WITH located AS (
    SELECT c.*, wr.start_seq AS write_start, wr.block_id AS write_block, rr.start_seq AS read_start, rr.block_id AS read_block
    FROM communication c
    ASOF JOIN block_run rr ON c.read_seq >= rr.start_seq
    ASOF JOIN block_run wr ON c.write_seq >= wr.start_seq)
SELECT l.write_seq, w.text AS write_text,
       CASE WHEN w.line IS NOT NULL THEN regexp_extract(wf.path, '[^/]*$') || ':' || w.line END AS write_line,
       l.read_seq, r.text AS read_text,
       CASE WHEN r.line IS NOT NULL THEN regexp_extract(rf.path, '[^/]*$') || ':' || r.line END AS read_line,
       l.space, l.address,
       CASE WHEN l.space = 'memory'
            THEN (SELECT min(v.name) FROM variable v WHERE l.address >= v.address AND l.address - v.address < v.size) END AS variable,
       l.bytes
FROM located l
JOIN block_step ws ON ws.block_id = l.write_block AND ws.step = l.write_seq - l.write_start
JOIN block_step rs ON rs.block_id = l.read_block AND rs.step = l.read_seq - l.read_start
JOIN instruction w ON w.instruction_id = ws.instruction_id
JOIN instruction r ON r.instruction_id = rs.instruction_id
LEFT JOIN source_file wf ON wf.file_id = w.file_id
LEFT JOIN source_file rf ON rf.file_id = r.file_id
WHERE w.function_id = ? AND r.function_id = ?
ORDER BY l.read_seq, l.read_ordinal, l.address
LIMIT ?;
