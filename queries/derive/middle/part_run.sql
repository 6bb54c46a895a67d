-- Runs of parts of blocks in a window, with their call instances.
-- reads: block_run, block_part, derived_control_flow
-- base (65536 * seq of the block's first step; with the slot of an access it is the access's id), thread_id, part_id, call_id, address, value
-- each: window
CREATE OR REPLACE TEMP TABLE part_run AS
WITH piece AS (
    SELECT r.start_seq * 65536 AS base, r.start_seq + p.first_step AS seq, r.thread_id, p.part_id, r.address, r.value
    FROM block_run r JOIN block_part p USING (block_id)
    WHERE r.start_seq >= getvariable('lo') AND r.start_seq < getvariable('hi'))
SELECT p.base, p.thread_id, p.part_id, s.call_id, p.address, p.value
FROM piece p ASOF JOIN (
    SELECT thread_id, start_seq AS seq, call_id FROM derived_control_flow
    WHERE start_seq < getvariable('hi') AND end_seq >= getvariable('lo')) s ON s.thread_id = p.thread_id AND p.seq >= s.seq;
