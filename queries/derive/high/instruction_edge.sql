-- Dataflow between instructions by via.
-- reads: located_read
-- as the table instruction_edge
CREATE TEMP TABLE derived_instruction_edge AS
SELECT writer_instruction_id, reader_instruction_id, writer_function_id, via, count(*) AS bytes,
       count(DISTINCT (write_id, read_id)) AS transfers
FROM located_read GROUP BY ALL;
