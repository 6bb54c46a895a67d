-- What system calls moved, by what it comes from or goes to.
-- reads: system_call_access
-- source (`<read: words.txt>`), is_write (the kernel wrote it to memory: the program read it), bytes
SELECT source, is_write, CAST(sum(bytes) AS BIGINT) AS bytes
FROM system_call_access WHERE source IS NOT NULL
GROUP BY source, is_write ORDER BY source, is_write;
