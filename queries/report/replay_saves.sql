-- Registers saved in a part of the run, in order.
-- reads: saved_register, function_call
-- param first BIGINT: first seq of the part
-- param last BIGINT: its last seq
-- save_seq, save_ordinal, call_id, register_address, bytes, address, restore_seq (of the last restore), restores, exposed_seq, return_seq
-- (last step of the instance)
SELECT s.save_seq, s.save_ordinal, s.call_id, s.register_address, s.bytes, s.address, s.restore_seq, s.restores, s.exposed_seq,
       c.return_seq
FROM saved_register s JOIN function_call c USING (call_id)
WHERE s.save_seq BETWEEN $1 AND $2
ORDER BY s.save_seq, s.save_ordinal;
