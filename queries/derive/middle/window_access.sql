-- Accesses of a window that are data, or a call's stores, with their call instances.
-- reads: block_run, block_part, part_access, derived_control_flow
-- id (seq * 65536 + ordinal), is_write, is_register, owner (thread of a register, 0: memory), thread_id, address, size, value,
-- is_stack_relative, data_register, call_id, instruction_id
-- each: window
CREATE OR REPLACE TEMP TABLE window_access AS
WITH piece AS (
    SELECT r.start_seq, r.start_seq + p.first_step AS seq, r.thread_id, r.block_id, p.part, r.address, r.value
    FROM block_run r JOIN block_part p USING (block_id)
    WHERE r.start_seq >= getvariable('lo') AND r.start_seq < getvariable('hi')),
placed AS (
    SELECT p.*, s.call_id
    FROM piece p ASOF JOIN (
        SELECT thread_id, start_seq AS seq, call_id FROM derived_control_flow
        WHERE start_seq < getvariable('hi') AND end_seq >= getvariable('lo')) s ON s.thread_id = p.thread_id AND p.seq >= s.seq)
SELECT (p.start_seq + a.step) * 65536 + a.ordinal AS id, a.is_write, a.space = 'register' AS is_register,
       CASE WHEN a.space = 'register' THEN p.thread_id ELSE 0 END AS owner, p.thread_id,
       CASE WHEN a.space = 'memory' THEN p.address[a.memory_index + 1] ELSE a.register_address::UBIGINT END AS address, a.size,
       p.value[a.value_index + 1] AS value, a.is_stack_relative, a.data_register, p.call_id, a.instruction_id
FROM placed p JOIN part_access a ON a.block_id = p.block_id AND a.part = p.part
WHERE NOT a.is_control OR (a.is_write AND a.space = 'memory');
