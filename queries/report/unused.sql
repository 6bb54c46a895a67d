-- What functions, or groups of them, write to memory in vain. Each write is of one function, so that those of a group add up.
-- reads: function_profile, function_symbol, function_edge
-- needs: TEMP TABLE function_group (function_id, node: a function that stands for the group, name), or no row
-- param limit BIGINT: rows at most
-- function (or group), written_bytes, dead_bytes (overwritten or left unread), dead (share), only_own (what it writes is read by nobody
-- else: by itself only)
WITH node_of AS (
    SELECT s.function_id, coalesce(g.node, s.function_id) AS node, coalesce(g.name, s.name) AS name
    FROM function_symbol s LEFT JOIN function_group g USING (function_id)),
written AS (
    SELECT n.node, n.name, CAST(sum(p.written_bytes) AS BIGINT) AS written_bytes, CAST(sum(p.dead_bytes) AS BIGINT) AS dead_bytes
    FROM function_profile p JOIN node_of n USING (function_id)
    WHERE p.written_bytes > 0
    GROUP BY n.node, n.name),
given AS (
    SELECT DISTINCT a.node
    FROM function_edge e JOIN node_of a ON a.function_id = e.writer_function_id JOIN node_of b ON b.function_id = e.reader_function_id
    WHERE a.node <> b.node AND e.via <> 'register')
SELECT w.name AS function, w.written_bytes, w.dead_bytes, printf('%.1f %%', 100.0 * w.dead_bytes / w.written_bytes) AS dead,
       w.node NOT IN (SELECT node FROM given) AS only_own
FROM written w
ORDER BY w.dead_bytes DESC, w.written_bytes DESC, w.node LIMIT $1;
