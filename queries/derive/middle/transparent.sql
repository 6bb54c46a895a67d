-- The same without restores and unexposed saves, which are no reads; a restore's write gives back what the register had.
-- reads: word_access, restore, quiet, alias
-- as word_access
-- each: window
CREATE OR REPLACE TEMP TABLE word_access AS
WITH here AS (SELECT * FROM alias WHERE id >= getvariable('lo') * 65536 AND id < getvariable('hi') * 65536)
SELECT e.* FROM word_access e
ANTI JOIN (SELECT read_id AS id FROM restore UNION ALL SELECT read_id FROM quiet UNION ALL SELECT id FROM here) r ON r.id = e.id
UNION ALL
SELECT id, true, true, owner, word, low, high, coalesce(writer, {write_id: 0, call_id: NULL, instruction_id: NULL}), NULL, NULL FROM here;
