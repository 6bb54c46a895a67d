-- The process, its threads' number, and whether steps are numbered by thread.
-- reads: process, thread, meta
-- pid, threads, by_thread
SELECT (SELECT coalesce(min(pid), 1) FROM process) AS pid, (SELECT coalesce(max(thread_id), 1) FROM thread)::INTEGER AS threads,
       EXISTS (FROM meta WHERE key = 'dcfg_version') AS by_thread;
