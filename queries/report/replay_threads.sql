-- Threads with their processes: memory belongs to a process.
-- reads: thread
-- thread_id, process_id
SELECT thread_id, process_id FROM thread;
