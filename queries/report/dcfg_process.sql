-- The process, its threads' number, and whether steps are numbered by thread.
-- reads: process, thread, meta
-- pid, threads, by_thread
SELECT (SELECT coalesce(min(pid), 1) FROM process) AS pid, CAST((SELECT coalesce(max(thread_id), 1) FROM thread) AS INTEGER) AS threads,
       EXISTS (SELECT 1 FROM meta WHERE key = 'dcfg_version') AS by_thread;
