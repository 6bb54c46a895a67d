-- Dataflow between functions of a trace of dependences.
-- reads: instruction_edge, instruction
-- writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses (NULL: not known), transfers (dependences)
SELECT e.writer_function_id, r.function_id, NULL AS via, NULL AS bytes, NULL AS unique_bytes, NULL AS addresses,
       sum(e.transfers)::BIGINT AS transfers
FROM instruction_edge e JOIN instruction r ON r.instruction_id = e.reader_instruction_id
GROUP BY ALL
ORDER BY ALL;
