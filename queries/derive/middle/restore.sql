-- Loads that restore a saved register: at the save's address, of its size, into its register, in its instance, all bytes still those
-- of the save's store, before it is exposed. Which stores are saves is taken from saved_register.
-- reads: saved_register, data_access, byte_read, function_call
-- read_id (the load), store_id (the save's store), restore_seq, save_seq, register_address, bytes, thread_id
CREATE TEMP TABLE restore AS
WITH candidate AS (
    SELECT read_id, min(write_id) AS store_id, any_value(thread_id) AS thread_id
    FROM byte_read WHERE NOT is_register
    GROUP BY read_id
    HAVING count(write_id) = count(*) AND min(write_id) = max(write_id))
SELECT c.read_id, c.store_id, a.seq AS restore_seq, s.save_seq, s.register_address, s.bytes, c.thread_id
FROM saved_register s
JOIN candidate c ON c.store_id = s.save_seq * 65536 + s.save_ordinal
JOIN data_access a ON a.seq = c.read_id // 65536 AND a.ordinal = c.read_id % 65536
JOIN function_call f ON f.call_id = s.call_id
WHERE a.data_register = s.register_address AND a.address = s.address AND a.size = s.bytes
  AND (s.exposed_seq IS NULL OR a.seq < s.exposed_seq) AND a.seq <= f.return_seq;
