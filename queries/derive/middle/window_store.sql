-- Stores of a window that may be saves; of the reads of registers only theirs are looked at.
-- reads: window_access, word_access, derived_call, meta
-- window_store: store_id, read_id (of the register), register_address, size, address, value, thread_id, call_id, ends_before
-- word_access: without other reads of registers
-- each: window
CREATE OR REPLACE TEMP TABLE window_store AS
SELECT a.id AS store_id, r.id AS read_id, a.data_register AS register_address, a.size, a.address, a.value, a.thread_id, a.call_id, c.ends_before
FROM window_access a JOIN derived_call c USING (call_id)
JOIN window_access r ON r.id // 65536 = a.id // 65536 AND NOT r.is_write AND r.is_register AND r.address = a.data_register AND r.size = a.size
WHERE a.is_write AND NOT a.is_register AND a.data_register IS NOT NULL
  AND (SELECT value FROM meta WHERE key = 'saves') = 'transparent'
  AND CASE WHEN c.frame_top IS NULL THEN a.is_stack_relative
           ELSE a.address::HUGEINT + a.size <= c.frame_top AND a.address::HUGEINT >= c.frame_top::HUGEINT - 8388608 END;
CREATE OR REPLACE TEMP TABLE word_access AS
SELECT a.* FROM word_access a LEFT JOIN (SELECT DISTINCT read_id FROM window_store) s ON s.read_id = a.id
WHERE a.is_write OR NOT a.is_register OR s.read_id IS NOT NULL;
