-- Where intervals begin, in the order in which they are stored, which is that of the run.
-- reads: control_flow
-- start_seq, call_id, thread_id (a call that waits on a stack of its own may go on in another one)
SELECT start_seq, call_id, thread_id FROM control_flow WHERE start_seq IS NOT NULL;
