-- Every byte that a data read reads, with the write that made it: last writer by byte, literally.
-- reads: data_access
-- read_id, write_id (seq * 65536 + ordinal; NULL: no step wrote the byte), is_register, thread_id, byte (address), offset (in the access)
CREATE TEMP TABLE byte_read AS
WITH access AS (
    -- Control accesses to registers are no data; what a return loads is none either, what a call stores is.
    SELECT seq * 65536 + ordinal AS id, is_write, space = 'register' AS is_register,
           CASE WHEN space = 'register' THEN thread_id ELSE 0 END AS owner, thread_id, address, size
    FROM data_access
    WHERE NOT is_control OR (is_write AND space = 'memory')),
byte AS (
    SELECT id, is_write, is_register, owner, thread_id, address + o AS byte, o AS "offset"
    FROM access, unnest(range(size::BIGINT)::UBIGINT[]) AS t(o))
SELECT id AS read_id,
       write_id, is_register, thread_id, byte, "offset"
FROM (SELECT *, last_value(CASE WHEN is_write THEN id END IGNORE NULLS) OVER (
             PARTITION BY is_register, owner, byte ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS write_id
      FROM byte)
WHERE NOT is_write;
