-- Dataflow between instructions as it is stored, summed over what it goes through.
-- reads: instruction_edge
-- writer_instruction_id (NULL: no step wrote), reader_instruction_id, bytes
SELECT writer_instruction_id, reader_instruction_id, CAST(sum(bytes) AS BIGINT) AS bytes
FROM instruction_edge WHERE bytes IS NOT NULL GROUP BY writer_instruction_id, reader_instruction_id
ORDER BY writer_instruction_id NULLS FIRST, reader_instruction_id;
