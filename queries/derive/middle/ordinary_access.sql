-- Accesses to memory of a window without restores, which are no reads.
-- reads: word_access, restore
-- as word_access
-- each: window
CREATE OR REPLACE TEMP TABLE word_access AS
SELECT a.* FROM word_access a
ANTI JOIN (SELECT read_id FROM restore WHERE read_id >= getvariable('lo') * 65536 AND read_id < getvariable('hi') * 65536) r ON r.read_id = a.id;
