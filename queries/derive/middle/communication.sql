-- Communications of a window: longest runs of adjacent bytes of one (write, read) pair.
-- reads: located_read
-- as the view communication, with writer_call_id, reader_call_id
-- each: window
CREATE OR REPLACE TEMP TABLE derived_communication AS
WITH several AS (SELECT read_id FROM located_read GROUP BY read_id HAVING count(*) > 1),
run AS (
    SELECT read_id, write_id, is_register, address, high - low AS bytes, writer_call_id, reader_call_id
    FROM located_read ANTI JOIN several USING (read_id)
    UNION ALL
    SELECT read_id, write_id, is_register, min(address), sum(bytes)::INTEGER, any_value(writer_call_id), any_value(reader_call_id)
    FROM (SELECT *, high - low AS bytes,
                 address::HUGEINT + bytes - sum(bytes) OVER (PARTITION BY read_id, is_register, write_id ORDER BY address) AS island
          FROM located_read SEMI JOIN several USING (read_id))
    GROUP BY read_id, write_id, is_register, island)
SELECT CASE WHEN write_id > 0 THEN write_id // 65536 END AS write_seq, CASE WHEN write_id > 0 THEN (write_id % 65536)::USMALLINT END AS write_ordinal,
       read_id // 65536 AS read_seq, (read_id % 65536)::USMALLINT AS read_ordinal, CASE WHEN is_register THEN 'register' ELSE 'memory' END AS space,
       address, bytes::UINTEGER AS bytes, writer_call_id, reader_call_id
FROM run;
