-- Dataflow between parts of the functions to expand, and between the other functions.
-- reads: instruction_edge, instruction, function_edge
-- needs: TEMP TABLE part (instruction_id, node), expanded (function_id)
-- writer, reader (nodes), via, bytes, unique_bytes, addresses (both NULL where an end is a part: not defined there), transfers
SELECT CAST(coalesce(w.node, e.writer_function_id) AS BIGINT) AS writer, CAST(coalesce(p.node, r.function_id) AS BIGINT) AS reader, e.via,
       CAST(sum(e.bytes) AS BIGINT) AS bytes, CAST(NULL AS BIGINT) AS unique_bytes, CAST(NULL AS BIGINT) AS addresses,
       CAST(sum(e.transfers) AS BIGINT) AS transfers
FROM instruction_edge e JOIN instruction r ON r.instruction_id = e.reader_instruction_id
LEFT JOIN part p ON p.instruction_id = e.reader_instruction_id LEFT JOIN part w ON w.instruction_id = e.writer_instruction_id
WHERE p.node IS NOT NULL OR w.node IS NOT NULL
GROUP BY 1, 2, e.via
UNION ALL
SELECT writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses, transfers
FROM function_edge
WHERE writer_function_id NOT IN (SELECT function_id FROM expanded) AND reader_function_id NOT IN (SELECT function_id FROM expanded);
