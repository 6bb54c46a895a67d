-- Threads with what is known of them.
-- reads: thread, process
-- thread_id, tid, steps, process: its number behind its program (NULL: there is one process)
SELECT t.thread_id, t.tid, t.steps,
       (SELECT coalesce(p.name || ' ', '') || p.pid FROM process p WHERE p.process_id = t.process_id AND (SELECT count(*) FROM process) > 1) AS process
FROM thread t ORDER BY t.thread_id;
