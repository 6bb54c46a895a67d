-- What a set of functions reads of other calls within a window of the run.
-- reads: communication_row, communication_kind, block_run
-- needs: TEMP TABLE end_step (as flows_steps.sql gives), reader_interval (thread_id, start_seq, end_seq)
-- duckdb-only: ASOF joins on the low level
-- param first BIGINT: first seq of the window
-- param last BIGINT: last seq of the window
-- param longest BIGINT: steps of the longest block
-- read_seq, read_ordinal, write_seq (NULL: no step wrote it), is_register, address, bytes, read_instruction_id, reader_function_id,
-- thread_id
WITH reader_run AS (
    SELECT start_seq, thread_id, block_id FROM block_run
    WHERE start_seq <= $2 AND start_seq > $1 - $3::BIGINT AND block_id IN (SELECT block_id FROM end_step WHERE reads))
SELECT c.read_seq, k.read_ordinal, c.read_seq - c.write_back AS write_seq, k.is_register, c.address, k.bytes,
       s.instruction_id AS read_instruction_id, s.function_id AS reader_function_id, r.thread_id
FROM (SELECT * FROM communication_row WHERE read_seq BETWEEN $1 AND $2) c
JOIN communication_kind k USING (kind_id)
ASOF JOIN reader_run r ON c.read_seq >= r.start_seq
JOIN (FROM end_step WHERE reads) s ON s.block_id = r.block_id AND s.step = c.read_seq - r.start_seq
ASOF JOIN reader_interval own ON own.thread_id = r.thread_id AND c.read_seq >= own.start_seq
WHERE c.read_seq <= own.end_seq;
