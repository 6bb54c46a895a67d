-- Communications from a set of functions to another with the read within a window of the run.
-- reads: communication_row, communication_kind, block_run, function_symbol
-- needs: TEMP TABLE memory_place (as flows_places.sql gives), end_step (as flows_steps.sql gives), writer_run (start_seq, block_id),
-- reader_interval (thread_id, start_seq, end_seq), writer_function (function_id)
-- duckdb-only: ASOF joins on the low level
-- param first BIGINT: first seq of the window
-- param last BIGINT: last seq of the window
-- param inside BOOLEAN: of a function that is in both sets, also what it reads of its own
-- param limit BIGINT: rows at most
-- param longest BIGINT: steps of the longest block
-- read_seq, read_ordinal, write_seq, is_register, address, bytes, read_instruction_id, reader_function_id, write_instruction_id,
-- writer_function_id
WITH reader_run AS (
    SELECT start_seq, thread_id, block_id FROM block_run
    WHERE start_seq <= $2 AND start_seq > $1 - $5::BIGINT AND block_id IN (SELECT block_id FROM end_step WHERE reads)),
read AS MATERIALIZED (
    SELECT c.read_seq, k.read_ordinal, c.read_seq - c.write_back AS write_seq, k.is_register, c.address, k.bytes,
           s.instruction_id AS read_instruction_id, s.function_id AS reader_function_id
    FROM (SELECT * FROM communication_row WHERE read_seq BETWEEN $1 AND $2) c
    JOIN communication_kind k USING (kind_id)
    ASOF JOIN reader_run r ON c.read_seq >= r.start_seq
    JOIN (FROM end_step WHERE reads) s ON s.block_id = r.block_id AND s.step = c.read_seq - r.start_seq
    ASOF JOIN reader_interval own ON own.thread_id = r.thread_id AND c.read_seq >= own.start_seq
    WHERE c.read_seq <= own.end_seq),
written AS (
    SELECT r.*, s.instruction_id AS write_instruction_id, s.function_id AS writer_function_id
    FROM (SELECT * FROM read WHERE write_seq IS NOT NULL) r
    ASOF JOIN writer_run w ON r.write_seq >= w.start_seq
    JOIN (FROM end_step WHERE writes) s ON s.block_id = w.block_id AND s.step = r.write_seq - w.start_seq
    WHERE $3 OR s.function_id <> r.reader_function_id),
-- What no step wrote, by the name of the pseudo-function that stands for it.
unwritten AS (
    SELECT r.*, NULL AS write_instruction_id, f.function_id AS writer_function_id
    FROM (SELECT * FROM read WHERE write_seq IS NULL) r
    ASOF JOIN memory_place p ON r.address >= p.start
    JOIN function_symbol f ON f.kind = 'pseudo' AND f.function_id IN (SELECT function_id FROM writer_function)
    WHERE CASE WHEN r.is_register THEN f.name = '<initial registers>' ELSE f.name = p.unwritten END)
FROM written UNION ALL FROM unwritten
ORDER BY read_seq, read_ordinal, address, write_seq, writer_function_id
LIMIT $4;
