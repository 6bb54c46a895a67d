-- Call instances of a function, compared: what each read from others, handed to others, and how many of the partners that its function
-- has at all.
-- reads: function_call, function_symbol
-- needs: TEMP TABLE call_partner (call_id, reads, other, bytes): what the calls exchange with each other function
-- param function INTEGER: function id
-- param limit BIGINT: rows at most
-- instance, caller, first, last (seq), steps_self, steps_total, bytes_in (from other instances), bytes_out (to other instances),
-- sources, sinks (functions; as 2/5 of those of all instances), like (the first instance with the same partners and bytes)
WITH mine AS (SELECT * FROM function_call WHERE function_id = $1),
s AS (SELECT call_id, reads, CAST(sum(bytes) AS BIGINT) AS bytes, count(*) AS others,
             string_agg(other || ':' || bytes, ' ' ORDER BY other) AS partners
      FROM call_partner GROUP BY call_id, reads),
rs AS (SELECT * FROM s WHERE reads),
ws AS (SELECT * FROM s WHERE NOT reads)
SELECT m.instance, coalesce(f.name || '#' || p.instance, '') AS caller, m.call_seq AS first, m.return_seq AS last, m.steps_self,
       m.steps_total, coalesce(rs.bytes, 0) AS bytes_in, coalesce(ws.bytes, 0) AS bytes_out,
       coalesce(rs.others, 0) || '/' || (SELECT count(DISTINCT other) FROM call_partner WHERE reads) AS sources,
       coalesce(ws.others, 0) || '/' || (SELECT count(DISTINCT other) FROM call_partner WHERE NOT reads) AS sinks,
       min(m.instance) OVER (PARTITION BY rs.partners, ws.partners) AS "like"
FROM mine m LEFT JOIN function_call p ON p.call_id = m.parent_call_id LEFT JOIN function_symbol f ON f.function_id = p.function_id
LEFT JOIN rs ON rs.call_id = m.call_id LEFT JOIN ws ON ws.call_id = m.call_id
ORDER BY m.instance LIMIT $2;
