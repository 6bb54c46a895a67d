-- Where intervals begin, in the order in which they are stored, which is that of the run.
-- reads: control_flow
-- start_seq, call_id
SELECT start_seq, call_id FROM control_flow WHERE start_seq IS NOT NULL;
