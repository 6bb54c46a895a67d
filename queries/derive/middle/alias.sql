-- Register bytes that a restore gives back: its write stands for the one that the register had before the save.
-- reads: restore, data_access, byte_read
-- write_id (the restore's), byte, thread_id, origin_id (the write before the save, NULL if no step wrote it; may be an alias itself)
CREATE TEMP TABLE alias AS
SELECT w.seq * 65536 + w.ordinal AS write_id, b.byte, r.thread_id, b.write_id AS origin_id
FROM restore r
JOIN data_access w ON w.seq = r.restore_seq AND w.is_write AND w.space = 'register' AND w.address = r.register_address
    AND w.size = r.bytes
JOIN byte_read b ON b.is_register AND b.read_id // 65536 = r.save_seq AND b.thread_id = r.thread_id
    AND b.byte BETWEEN r.register_address AND r.register_address + r.bytes - 1;
