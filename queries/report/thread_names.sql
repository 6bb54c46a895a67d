-- Threads with what is known of them.
-- reads: thread
-- thread_id, tid, steps
SELECT thread_id, tid, steps FROM thread ORDER BY thread_id;
