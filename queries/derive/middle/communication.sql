-- Communications: longest runs of adjacent bytes of one (write, read) pair, restores and unexposed saves left out.
-- reads: byte_read, restore, alias, save, save_candidate
-- data_read: read_id, write_id, is_register, thread_id, byte, offset; as the view communication
CREATE TEMP TABLE data_read AS
-- The read of the register in a save's step counts only if the save was exposed.
WITH quiet AS (SELECT s.read_id FROM save_candidate s JOIN save USING (store_id) WHERE s.exposed_id IS NULL)
SELECT b.read_id, CASE WHEN a.write_id IS NOT NULL THEN a.origin_id ELSE b.write_id END AS write_id, b.is_register, b.thread_id, b.byte,
       b."offset"
FROM byte_read b
LEFT JOIN alias a ON a.is_register = b.is_register AND a.write_id = b.write_id AND a.byte = b.byte AND a.thread_id = b.thread_id
ANTI JOIN restore r ON r.read_id = b.read_id
ANTI JOIN quiet q ON q.read_id = b.read_id;
CREATE TEMP TABLE derived_communication AS
SELECT write_id // 65536 AS write_seq, (write_id % 65536)::USMALLINT AS write_ordinal, read_id // 65536 AS read_seq,
       (read_id % 65536)::USMALLINT AS read_ordinal, CASE WHEN is_register THEN 'register' ELSE 'memory' END AS space,
       min(byte) AS address, count(*)::UINTEGER AS bytes
FROM (SELECT *, "offset"::BIGINT - row_number() OVER (PARTITION BY read_id, is_register, write_id ORDER BY "offset") AS island
      FROM data_read)
GROUP BY read_id, is_register, write_id, island;
