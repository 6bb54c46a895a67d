-- Communications from a set of functions to another with the read within a window of the run.
-- needs: TEMP TABLE window_read (as flows_reads.sql gives), source_read (of those that no step wrote the parts that come from the sources of
-- the set, with writer_function_id), end_step (as flows_steps.sql gives), writer_run (start_seq, block_id)
-- duckdb-only: ASOF joins on the low level
-- param inside BOOLEAN: of a function that is in both sets, also what it reads of its own
-- param limit BIGINT: rows at most
-- read_seq, read_ordinal, write_seq, is_register, address, bytes, read_instruction_id, reader_function_id, write_instruction_id,
-- writer_function_id
WITH written AS (
    SELECT r.* EXCLUDE (thread_id), s.instruction_id AS write_instruction_id, s.function_id AS writer_function_id
    FROM (SELECT * FROM window_read WHERE write_seq IS NOT NULL) r
    ASOF JOIN writer_run w ON r.write_seq >= w.start_seq
    JOIN (FROM end_step WHERE writes) s ON s.block_id = w.block_id AND s.step = r.write_seq - w.start_seq
    WHERE $1 OR s.function_id <> r.reader_function_id)
FROM written UNION ALL FROM source_read
ORDER BY read_seq, read_ordinal, address, write_seq, writer_function_id
LIMIT $2;
