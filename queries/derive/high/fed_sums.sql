-- What runs of parts read of their own writes, by instructions and functions, for all runs together.
-- reads: part_count, fed, own_read, access_code
-- instruction_part, cell_part: as `window_sums` fills them
INSERT INTO instruction_part
SELECT w.instruction_id, r.instruction_id, f.function_id, 'register', sum(n.runs * f.bytes)::BIGINT, sum(n.runs)::BIGINT
FROM (SELECT part_id, sum(runs) AS runs FROM part_count GROUP BY part_id) n JOIN fed f USING (part_id)
JOIN access_code w ON w.code_id = f.writer_code JOIN access_code r ON r.code_id = f.reader_code GROUP BY ALL;
INSERT INTO cell_part
SELECT a.function_id, a.function_id, 'register', n.thread_id, o.cell, bit_or(o.mask)
FROM own_read o JOIN access_code a ON a.code_id = o.writer_code JOIN (SELECT DISTINCT part_id, thread_id FROM part_count) n USING (part_id) GROUP BY ALL;
