-- Functions that ran, with what of their code did, and pseudo-functions.
-- reads: function_symbol, function_profile, instruction
-- function_id, name, is_pseudo, steps (its own; a repeated string instruction is one, however often: it takes no step's time each), total (with what it called), written (bytes to memory), instructions (executed ones), executed, size (bytes of code)
WITH code AS (SELECT function_id, coalesce(process_id, 0) AS process, address, sum(executions) AS executions
              FROM instruction GROUP BY function_id, process_id, address),
     -- It is left as often as what stands behind it runs, but for what jumps there.
     repetition AS (SELECT i.function_id, CAST(sum(i.executions - coalesce(n.executions, 1)) AS BIGINT) AS steps
                    FROM instruction i LEFT JOIN code n ON n.function_id = i.function_id AND n.process = coalesce(i.process_id, 0)
                         AND n.address = i.address + i.size
                    WHERE i.repeats AND i.executions > coalesce(n.executions, 1) GROUP BY i.function_id)
SELECT s.function_id, s.name, s.kind = 'pseudo' AS is_pseudo, coalesce(p.steps_self - coalesce(r.steps, 0), 0) AS steps, coalesce(p.steps_total, 0) AS total,
       coalesce(p.written_bytes, 0) AS written, coalesce(i.instructions, 0) AS instructions,
       coalesce(i.executed, 0) AS executed, CAST(coalesce(s.size, 0) AS BIGINT) AS size
FROM function_symbol s LEFT JOIN function_profile p ON p.function_id = s.function_id
LEFT JOIN (SELECT function_id, count(*) AS instructions, CAST(coalesce(sum(size), 0) AS BIGINT) AS executed
           FROM instruction WHERE executions > 0 GROUP BY function_id) i ON i.function_id = s.function_id
LEFT JOIN repetition r ON r.function_id = s.function_id
WHERE p.function_id IS NOT NULL OR s.kind = 'pseudo'
ORDER BY s.function_id;
