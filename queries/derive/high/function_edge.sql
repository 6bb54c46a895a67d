-- Dataflow between functions by via.
-- reads: flow_part, cell_part
-- as the table function_edge
CREATE TEMP TABLE derived_function_edge AS
WITH cell AS (
    SELECT writer_function_id, reader_function_id, via, sum(bit_count(mask))::BIGINT AS addresses FROM cell_part GROUP BY ALL),
flow AS (
    SELECT writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes, sum(unique_bytes)::BIGINT AS unique_bytes,
           sum(transfers)::BIGINT AS transfers
    FROM flow_part GROUP BY ALL)
SELECT writer_function_id, reader_function_id, via, bytes, unique_bytes, addresses, transfers
FROM flow JOIN cell USING (writer_function_id, reader_function_id, via);
