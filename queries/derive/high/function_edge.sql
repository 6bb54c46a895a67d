-- Dataflow between functions by via.
-- reads: located_read
-- as the table function_edge
CREATE TEMP TABLE derived_function_edge AS
SELECT writer_function_id, reader_function_id, via, count(*) AS bytes,
       count(DISTINCT (reader_call_id, byte, is_register, thread_id, write_id)) AS unique_bytes,
       count(DISTINCT (byte, is_register, CASE WHEN is_register THEN thread_id END)) AS addresses,
       count(DISTINCT (write_id, read_id)) AS transfers
FROM located_read GROUP BY ALL;
