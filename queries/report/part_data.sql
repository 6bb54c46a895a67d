-- Dataflow between parts of the functions to expand, and between the other functions.
-- reads: instruction_edge, instruction, function_edge
-- needs: TEMP TABLE part (instruction_id, node), expanded (function_id)
-- writer_part (its first instruction; NULL: the function), writer_function_id, reader_part, reader_function_id, via, bytes, unique_bytes, addresses (both NULL where an end is a part: not defined there), transfers
SELECT w.node AS writer_part, CASE WHEN w.node IS NULL THEN e.writer_function_id END AS writer_function_id,
       p.node AS reader_part, CASE WHEN p.node IS NULL THEN r.function_id END AS reader_function_id, e.via,
       CAST(sum(e.bytes) AS BIGINT) AS bytes, CAST(NULL AS BIGINT) AS unique_bytes, CAST(NULL AS BIGINT) AS addresses,
       CAST(sum(e.transfers) AS BIGINT) AS transfers
FROM instruction_edge e JOIN instruction r ON r.instruction_id = e.reader_instruction_id
LEFT JOIN part p ON p.instruction_id = e.reader_instruction_id LEFT JOIN part w ON w.instruction_id = e.writer_instruction_id
WHERE p.node IS NOT NULL OR w.node IS NOT NULL
GROUP BY 1, 2, 3, 4, e.via
UNION ALL
SELECT NULL, writer_function_id, NULL, reader_function_id, via, bytes, unique_bytes, addresses, transfers
FROM function_edge
WHERE writer_function_id NOT IN (SELECT function_id FROM expanded) AND reader_function_id NOT IN (SELECT function_id FROM expanded);
