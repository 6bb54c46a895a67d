-- Intervals that overlap a part of the run, by thread in order.
-- reads: control_flow
-- param first BIGINT: first seq of the part
-- param last BIGINT: its last seq
-- thread_id, call_id, start_seq, end_seq (inclusive)
SELECT thread_id, call_id, start_seq, end_seq FROM control_flow
WHERE start_seq <= CAST($2 AS BIGINT) AND end_seq >= CAST($1 AS BIGINT)
ORDER BY thread_id, start_seq;
