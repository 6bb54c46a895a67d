-- Functions that ran, called or exchanged data, and pseudo-functions, the most traffic first; stubs merged into their callers.
-- reads: function_symbol, start_up_function, function_profile_folded, function_profile, function_edge_folded, call_edge_folded, source_file, image
-- function_id, name, kind, file, image (paths), address (hexadecimal), size (bytes), calls, steps_self, steps_total (inclusive, recursion
-- counted once), written_bytes, dead_bytes (overwritten or left unread), apart (1: start-up, the dynamic linker, a stub or a run-time
-- system; 2: code of a run-time system's header that the program's own file has; 0: the rest)
WITH RECURSIVE entry AS (
    SELECT function_id FROM function_symbol WHERE name = 'main'),
-- Callers of main lead to it; what main calls in turn is the program's.
before_main (function_id) AS (
    SELECT c.caller_function_id FROM call_edge_folded c JOIN entry e ON e.function_id = c.callee_function_id WHERE c.caller_function_id IS NOT NULL
    UNION
    SELECT c.caller_function_id FROM call_edge_folded c JOIN before_main b ON b.function_id = c.callee_function_id
    WHERE c.caller_function_id IS NOT NULL),
of_main (function_id) AS (
    SELECT function_id FROM entry
    UNION
    SELECT c.callee_function_id FROM call_edge_folded c JOIN of_main m ON m.function_id = c.caller_function_id),
traffic AS (
    SELECT function_id, sum(bytes) AS bytes FROM (
        SELECT writer_function_id AS function_id, coalesce(bytes, transfers) AS bytes FROM function_edge_folded
        UNION ALL
        SELECT reader_function_id, coalesce(bytes, transfers) FROM function_edge_folded WHERE reader_function_id <> writer_function_id) ends
    GROUP BY function_id),
called AS (
    SELECT caller_function_id AS function_id FROM call_edge_folded UNION SELECT callee_function_id FROM call_edge_folded)
SELECT s.function_id, s.name, s.kind, f.path AS file, i.path AS image,
       CASE WHEN s.address IS NOT NULL THEN printf('0x%x', s.address) END AS address,
       CASE WHEN s.size < 9223372036854775808 THEN CAST(s.size AS BIGINT) END AS size, p.calls, p.steps_self, p.steps_total, w.written_bytes, w.dead_bytes,
       CASE WHEN s.owner = 'linker' OR s.kind = 'stub'
              -- What valgrind puts into each program that it runs.
              OR coalesce(i.path, '') LIKE '%/vgpreload_%' OR s.function_id IN (SELECT function_id FROM start_up_function)
              OR (s.function_id IN (SELECT function_id FROM before_main) AND s.function_id NOT IN (SELECT function_id FROM of_main)) THEN 1
            WHEN s.owner = 'runtime' THEN CASE WHEN s.image_id = 1 AND coalesce(f.path, '') LIKE '%/include/%' THEN 2 ELSE 1 END
            ELSE 0 END AS apart
FROM function_symbol s
LEFT JOIN function_profile_folded p ON p.function_id = s.function_id
LEFT JOIN function_profile w ON w.function_id = s.function_id
LEFT JOIN traffic t ON t.function_id = s.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id
LEFT JOIN image i ON i.image_id = s.image_id
WHERE p.function_id IS NOT NULL OR t.function_id IS NOT NULL OR s.function_id IN (SELECT function_id FROM called)
ORDER BY t.bytes DESC NULLS LAST, p.steps_total DESC NULLS LAST, p.calls DESC NULLS LAST, s.function_id;
