-- Global and static variables by how often they are read and written, and by how many functions.
-- theme: data
-- needs: pairs
-- param rows count = 20: rows at most, 0 for all
-- none: no variable was touched, or the program has no names of any
WITH code AS (
    SELECT a.block_id, a.memory_index, a.is_write, i.function_id, coalesce(i.process_id, 1) AS process_id
    FROM block_access a JOIN block_step s USING (block_id, step) JOIN instruction i USING (instruction_id) WHERE a.space = 'memory'),
access AS (
    SELECT r.address[c.memory_index + 1] AS address, c.is_write, c.function_id, c.process_id, count(*) AS times
    FROM block_run r JOIN code c USING (block_id) WHERE NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no) GROUP BY ALL),
-- What several processes have does not lie where one of them has an image of its own.
extent AS (
    SELECT i.image_id, i.process_id, min(s.address) AS first, max(s.address::HUGEINT + s.size) AS behind
    FROM image i JOIN section s USING (image_id) GROUP BY ALL),
own AS (
    SELECT p.process_id, v.variable_id, v.address, v.size
    FROM (FROM variable WHERE size > 0) v LEFT JOIN extent e USING (image_id)
    JOIN process p ON e.process_id IS NULL OR e.process_id = p.process_id
    WHERE e.process_id IS NOT NULL
       OR NOT EXISTS (FROM extent o WHERE o.process_id = p.process_id AND o.first < e.behind AND e.first < o.behind)),
touched AS (
    SELECT v.variable_id, a.is_write, a.function_id, a.times
    FROM access a ASOF JOIN own v ON v.process_id = a.process_id AND a.address >= v.address
    WHERE a.address < v.address + v.size)
SELECT v.name AS variable, printf('0x%x', v.address) AS address, v.size AS bytes,
       coalesce(sum(times) FILTER (is_write), 0)::BIGINT AS writes, coalesce(sum(times) FILTER (NOT is_write), 0)::BIGINT AS reads,
       count(DISTINCT function_id) FILTER (is_write) AS writers, count(DISTINCT function_id) FILTER (NOT is_write) AS readers,
       n.name || ':' || v.line AS declared
FROM touched JOIN variable v USING (variable_id) LEFT JOIN source_name n ON n.file_id = v.file_id
GROUP BY v.variable_id, v.name, v.address, v.size, n.name, v.line ORDER BY writes + reads DESC, variable, v.address LIMIT $1;
