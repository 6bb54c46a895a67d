-- Nodes of TEMP TABLE near, and as node 0 the sum of all call instances beside them.
-- reads: function_call, function_symbol, source_file, image
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id)
-- node, name, kind, file, image (paths), calls, steps_self, steps_total (inclusive), functions (distinct)
WITH come AS (SELECT m.into_call_id AS call_id, sum(c.steps_self) AS steps
              FROM merged m JOIN function_call c ON c.call_id = m.call_id GROUP BY m.into_call_id),
call AS (SELECT CAST(coalesce(n.node, 0) AS BIGINT) AS node, c.function_id, c.instance, c.steps_self + coalesce(come.steps, 0) AS steps_self,
                c.steps_total
         FROM function_call c LEFT JOIN come ON come.call_id = c.call_id LEFT JOIN near n ON n.node = c.call_id
         WHERE c.call_id NOT IN (SELECT call_id FROM merged))
SELECT c.node, s.name || '#' || c.instance AS name, s.kind, f.path AS file, i.path AS image, CAST(1 AS BIGINT) AS calls,
       CAST(c.steps_self AS BIGINT) AS steps_self, c.steps_total
FROM call c JOIN function_symbol s ON s.function_id = c.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id LEFT JOIN image i ON i.image_id = s.image_id
WHERE c.node > 0
UNION ALL
SELECT n.node, s.name, s.kind, NULL, NULL, 0, NULL, NULL
FROM near n JOIN function_symbol s ON s.function_id = -n.node
UNION ALL
SELECT 0, '(others)', 'others', NULL, NULL, count(*), CAST(sum(steps_self) AS BIGINT), NULL FROM call WHERE node = 0 HAVING count(*) > 0;
