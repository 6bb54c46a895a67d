-- Who read and wrote a byte of memory, in the order of the run.
-- theme: steps
-- needs: pairs
-- param address address: as 0x4010
-- param rows count = 20: rows at most, 0 for all
-- none: no step touched the byte
WITH touched AS (
    SELECT r.start_seq + a.step AS seq, a.ordinal, a.is_write, r.address[a.memory_index + 1] AS address, a.size,
           r.value[a.value_index + 1] AS value, a.block_id, a.step
    FROM block_run r JOIN block_access a USING (block_id)
    WHERE a.space = 'memory' AND r.address[a.memory_index + 1] <= $1 AND r.address[a.memory_index + 1]::HUGEINT + a.size > $1
      AND NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no)
    ORDER BY seq, a.ordinal LIMIT $2)
SELECT t.seq, CASE WHEN t.is_write THEN 'write' ELSE 'read' END AS access, printf('0x%x', t.address) AS address, t.size AS bytes,
       printf('0x%x', t.value) AS value, f.name AS function, n.name || ':' || i.line AS line, i.text
FROM touched t JOIN block_step s USING (block_id, step) JOIN instruction i USING (instruction_id)
JOIN function_symbol f ON f.function_id = i.function_id LEFT JOIN source_name n ON n.file_id = i.file_id ORDER BY t.seq, t.ordinal;
