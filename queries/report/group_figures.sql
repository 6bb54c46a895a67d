-- What goes from group to group of functions, for a run of one thread: distinct cells, and distinct cells of distinct writes for each entry
-- into the reading group.
-- reads: communication_row, communication_kind, control_flow, function_symbol, system_call_access
-- needs: TEMP TABLE group_of_call (call_id, node, entry: the call with which the group was entered), place (as flows_places.sql gives)
-- duckdb-only: ASOF joins
-- writer, reader (groups), via, addresses (cells), unique_bytes (bytes)
WITH ends AS (
    SELECT r.node AS reader, r.entry, c.read_seq - c.write_back AS write_seq, k.write_ordinal, k.is_register, c.address, k.bytes
    FROM communication_row c JOIN communication_kind k USING (kind_id)
    ASOF JOIN control_flow f ON c.read_seq >= f.start_seq JOIN group_of_call r ON r.call_id = f.call_id),
pseudo AS (SELECT name, function_id FROM function_symbol WHERE kind = 'pseudo'),
crossing AS (
    SELECT DISTINCT w.node AS writer, e.reader, e.entry, e.write_seq, e.write_ordinal, e.is_register, e.address, e.bytes
    FROM (FROM ends WHERE write_seq IS NOT NULL) e ASOF JOIN control_flow f ON e.write_seq >= f.start_seq
    JOIN group_of_call w ON w.call_id = f.call_id
    WHERE w.node <> e.reader),
-- Where the trace has what the kernel wrote, a cell without a writing step may be the kernel's: unknown.
unwritten AS (SELECT DISTINCT reader, entry, is_register, address, bytes FROM ends
              WHERE write_seq IS NULL AND NOT EXISTS (FROM system_call_access WHERE is_write)),
placed AS (
    SELECT c.*, CASE WHEN c.is_register THEN 'register' ELSE p.via END AS via
    FROM crossing c ASOF JOIN place p ON c.address >= p.start
    UNION ALL
    SELECT coalesce(s.function_id, l.function_id), u.reader, u.entry, 0, 0, u.is_register, u.address, u.bytes,
           CASE WHEN u.is_register THEN 'register' ELSE p.via END
    FROM unwritten u ASOF JOIN place p ON u.address >= p.start
    LEFT JOIN pseudo s ON s.name = CASE WHEN u.is_register THEN '<initial registers>' ELSE p.unwritten END
    LEFT JOIN pseudo l ON l.name = p.unwritten_long AND NOT u.is_register
    WHERE coalesce(s.function_id, l.function_id) IS NOT NULL),
-- Ranges of cells overlap: what each adds to those that begin before it.
ranges AS (
    SELECT writer, reader, via, address, address::HUGEINT + bytes AS stop,
           max(address::HUGEINT + bytes) OVER (PARTITION BY writer, reader, via ORDER BY address, bytes
                                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered,
           max(address::HUGEINT + bytes) OVER (PARTITION BY writer, reader, via, entry, write_seq, write_ordinal ORDER BY address, bytes
                                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS had
    FROM placed)
SELECT writer::BIGINT AS writer, reader::BIGINT AS reader, via,
       sum(greatest(stop - greatest(address::HUGEINT, coalesce(covered, 0)), 0))::BIGINT AS addresses,
       sum(greatest(stop - greatest(address::HUGEINT, coalesce(had, 0)), 0))::BIGINT AS unique_bytes
FROM ranges GROUP BY ALL;
