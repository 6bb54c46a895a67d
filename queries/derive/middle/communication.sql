-- Communications: longest runs of adjacent bytes of one (write, read) pair, restores and unexposed saves left out.
-- reads: byte_read, restore, alias, saved_register
-- write_seq, write_ordinal, read_seq, read_ordinal, space, address, bytes
CREATE TEMP TABLE data_read AS
WITH RECURSIVE resolved AS (
    SELECT write_id AS alias_id, byte, thread_id, origin_id FROM alias
    UNION
    SELECT r.alias_id, r.byte, r.thread_id, a.origin_id
    FROM resolved r JOIN alias a ON a.write_id = r.origin_id AND a.byte = r.byte AND a.thread_id = r.thread_id),
final AS (
    SELECT r.*, true AS is_register
    FROM resolved r ANTI JOIN alias a ON a.write_id = r.origin_id AND a.byte = r.byte AND a.thread_id = r.thread_id),
-- The read of the register in a save's step counts only if the save was exposed.
quiet AS (
    SELECT save_seq, true AS is_register, unnest(range(register_address::BIGINT, register_address + bytes))::UBIGINT AS byte
    FROM saved_register WHERE exposed_seq IS NULL)
SELECT b.read_id, CASE WHEN f.alias_id IS NOT NULL THEN f.origin_id ELSE b.write_id END AS write_id, b.is_register, b.thread_id, b.byte,
       b."offset"
FROM byte_read b
LEFT JOIN final f ON f.is_register = b.is_register AND f.alias_id = b.write_id AND f.byte = b.byte AND f.thread_id = b.thread_id
ANTI JOIN restore r ON r.read_id = b.read_id
ANTI JOIN quiet q ON q.is_register = b.is_register AND q.save_seq = b.read_id // 65536 AND q.byte = b.byte;
CREATE TEMP TABLE derived_communication AS
SELECT write_id // 65536 AS write_seq, (write_id % 65536)::USMALLINT AS write_ordinal, read_id // 65536 AS read_seq,
       (read_id % 65536)::USMALLINT AS read_ordinal, CASE WHEN is_register THEN 'register' ELSE 'memory' END AS space,
       min(byte) AS address, count(*)::UINTEGER AS bytes
FROM (SELECT *, "offset"::BIGINT - row_number() OVER (PARTITION BY read_id, is_register, write_id ORDER BY "offset") AS island
      FROM data_read)
GROUP BY read_id, is_register, write_id, island;
