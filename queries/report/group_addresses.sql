-- Distinct cells through which data goes from group to group of functions, for a run of one thread.
-- reads: communication_row, communication_kind, control_flow
-- needs: TEMP TABLE group_of_function (function_id, node), place (as flows_places.sql gives)
-- duckdb-only: ASOF joins
-- writer, reader (groups), via, addresses
WITH ends AS (
    SELECT r.node AS reader, c.read_seq - c.write_back AS write_seq, k.is_register, c.address, k.bytes
    FROM (SELECT * FROM communication_row WHERE write_back IS NOT NULL) c JOIN communication_kind k USING (kind_id)
    ASOF JOIN control_flow f ON c.read_seq >= f.start_seq JOIN group_of_function r ON r.function_id = f.function_id),
crossing AS (
    SELECT DISTINCT w.node AS writer, e.reader, e.is_register, e.address, e.bytes
    FROM ends e ASOF JOIN control_flow f ON e.write_seq >= f.start_seq JOIN group_of_function w ON w.function_id = f.function_id
    WHERE w.node <> e.reader),
placed AS (SELECT c.*, CASE WHEN c.is_register THEN 'register' ELSE p.via END AS via FROM crossing c ASOF JOIN place p ON c.address >= p.start),
-- Ranges of cells overlap: what each adds to those that begin before it.
ranges AS (
    SELECT writer, reader, via, address, address::HUGEINT + bytes AS stop,
           max(address::HUGEINT + bytes) OVER (PARTITION BY writer, reader, via ORDER BY address, bytes
                                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
    FROM placed)
SELECT writer::BIGINT AS writer, reader::BIGINT AS reader, via,
       sum(greatest(stop - greatest(address::HUGEINT, coalesce(covered, 0)), 0))::BIGINT AS addresses
FROM ranges GROUP BY ALL;
