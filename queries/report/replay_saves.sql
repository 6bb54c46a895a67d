-- Registers saved in a part of the run, or saved before and restored in it or later, in order.
-- reads: saved_register
-- param first BIGINT: first seq of the part
-- param last BIGINT: its last seq
-- call_id, save_seq, save_ordinal, register_address, bytes, address, restore_seq (of the last restore), exposed
SELECT call_id, save_seq, save_ordinal, register_address, bytes, address, restore_seq, exposed_seq IS NOT NULL AS exposed
FROM (SELECT * FROM saved_register WHERE save_seq BETWEEN CAST($1 AS BIGINT) AND CAST($2 AS BIGINT)
      UNION ALL
      SELECT * FROM saved_register WHERE save_seq < CAST($1 AS BIGINT) AND restore_seq >= CAST($1 AS BIGINT))
ORDER BY save_seq, save_ordinal;
