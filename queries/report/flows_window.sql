-- Communications from one function to another with the read within a window of the run.
-- reads: communication_row, communication_kind, block_run, block_step, instruction, function_symbol
-- needs: TEMP TABLE place (as flows_places.sql gives), writer_run (start_seq, block_id), reader_interval (thread_id, start_seq, end_seq)
-- duckdb-only: ASOF joins on the low level
-- param first BIGINT: first seq of the window
-- param last BIGINT: last seq of the window
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- param limit BIGINT: rows at most
-- param longest BIGINT: steps of the longest block
-- read_seq, read_ordinal, write_seq, is_register, address, bytes, read_instruction_id, write_instruction_id
WITH reader_run AS (
    SELECT start_seq, thread_id, block_id FROM block_run
    WHERE start_seq <= $2 AND start_seq > $1 - $6::BIGINT
      AND block_id IN (SELECT s.block_id FROM block_step s JOIN instruction i USING (instruction_id) WHERE i.function_id = $4)),
read AS MATERIALIZED (
    SELECT c.read_seq, k.read_ordinal, c.read_seq - c.write_back AS write_seq, k.is_register, c.address, k.bytes,
           s.instruction_id AS read_instruction_id
    FROM (SELECT * FROM communication_row WHERE read_seq BETWEEN $1 AND $2) c
    JOIN communication_kind k USING (kind_id)
    ASOF JOIN reader_run r ON c.read_seq >= r.start_seq
    JOIN block_step s ON s.block_id = r.block_id AND s.step = c.read_seq - r.start_seq
    JOIN instruction i ON i.instruction_id = s.instruction_id AND i.function_id = $4
    ASOF JOIN reader_interval own ON own.thread_id = r.thread_id AND c.read_seq >= own.start_seq
    WHERE c.read_seq <= own.end_seq),
written AS (
    SELECT r.*, s.instruction_id AS write_instruction_id
    FROM (SELECT * FROM read WHERE write_seq IS NOT NULL) r
    ASOF JOIN writer_run w ON r.write_seq >= w.start_seq
    JOIN block_step s ON s.block_id = w.block_id AND s.step = r.write_seq - w.start_seq
    JOIN instruction i ON i.instruction_id = s.instruction_id AND i.function_id = $3),
-- What no step wrote, by the name of the pseudo-function that stands for it.
unwritten AS (
    SELECT r.*, NULL AS write_instruction_id
    FROM (SELECT * FROM read WHERE write_seq IS NULL) r
    ASOF JOIN place p ON r.address >= p.start
    JOIN function_symbol f ON f.function_id = $3 AND f.kind = 'pseudo'
    WHERE CASE WHEN r.is_register THEN f.name = '<initial registers>' ELSE f.name IN (p.unwritten, p.unwritten_long) END)
FROM written UNION ALL FROM unwritten
ORDER BY read_seq, read_ordinal, address, write_seq
LIMIT $5;
