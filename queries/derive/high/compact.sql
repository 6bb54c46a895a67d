-- Adds up what windows have given so far.
-- reads: flow_part, instruction_part, cell_part, part_count
-- the same tables
CREATE OR REPLACE TEMP TABLE flow_part AS
SELECT writer_call_id, reader_call_id, writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes,
       sum(unique_bytes)::BIGINT AS unique_bytes, sum(transfers)::BIGINT AS transfers
FROM flow_part GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE instruction_part AS
SELECT writer_instruction_id, reader_instruction_id, writer_function_id, via, sum(bytes)::BIGINT AS bytes, sum(transfers)::BIGINT AS transfers
FROM instruction_part GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE cell_part AS
SELECT writer_function_id, reader_function_id, via, thread_id, place, bit_or(mask) AS mask FROM cell_part GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE part_count AS
SELECT part_id, thread_id, sum(runs)::BIGINT AS runs FROM part_count GROUP BY ALL;
