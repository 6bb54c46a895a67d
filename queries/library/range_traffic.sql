-- Who loaded from and stored to a range of addresses (a memory, a device), by function and thread or core.
-- theme: data
-- needs: pairs
-- param first address: first address, as 0x80000000
-- param last address: last address, as 0x8000ffff
-- param rows count = 20: rows at most, 0 for all
-- none: no step accessed the range
WITH touched AS (
    SELECT r.thread_id, a.is_write, a.size, a.block_id, a.step
    FROM block_run r JOIN block_access a USING (block_id)
    WHERE a.space = 'memory' AND r.address[a.memory_index + 1] <= $2 AND r.address[a.memory_index + 1]::HUGEINT + a.size > $1
      AND NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no))
SELECT f.name AS function, t.thread_id AS thread, count(*) FILTER (NOT is_write) AS loads,
       coalesce(sum(t.size) FILTER (NOT is_write), 0) AS load_bytes, count(*) FILTER (is_write) AS stores,
       coalesce(sum(t.size) FILTER (is_write), 0) AS store_bytes
FROM touched t JOIN block_step s USING (block_id, step) JOIN instruction i USING (instruction_id)
JOIN function_symbol f ON f.function_id = i.function_id
GROUP BY f.name, f.function_id, t.thread_id ORDER BY load_bytes + store_bytes DESC, f.function_id, t.thread_id LIMIT $3;
