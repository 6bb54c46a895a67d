-- Dataflow between call instances by via.
-- reads: located_read
-- as the table dataflow
CREATE TEMP TABLE derived_dataflow AS
SELECT writer_call_id, reader_call_id, writer_function_id, reader_function_id, via, count(*) AS bytes,
       count(DISTINCT (byte, is_register, thread_id, write_id)) AS unique_bytes, count(DISTINCT (write_id, read_id)) AS transfers
FROM located_read GROUP BY ALL;
