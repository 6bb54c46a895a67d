-- Nodes of TEMP TABLE near, and as node 0 the sum of all call instances beside them.
-- reads: function_call, function_profile, function_symbol, source_file, image
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id, steps_self)
-- node, name, kind, file, image (paths), calls, steps_self, steps_total (inclusive), functions (distinct)
WITH come AS (SELECT m.into_call_id AS call_id, sum(m.steps_self) AS steps
              FROM merged m JOIN near n ON n.node = m.into_call_id GROUP BY m.into_call_id),
call AS MATERIALIZED (
    SELECT n.node, c.function_id, c.instance, CAST(c.steps_self + coalesce(come.steps, 0) AS BIGINT) AS steps_self, c.steps_total
    FROM function_call c JOIN near n ON n.node = c.call_id LEFT JOIN come ON come.call_id = c.call_id),
-- All less those.
rest AS (
    SELECT sum(calls) - (SELECT count(*) FROM merged) - (SELECT count(*) FROM call) AS calls,
           sum(steps_self) - coalesce((SELECT sum(steps_self) FROM call), 0) AS steps_self
    FROM function_profile)
SELECT c.node, s.name || '#' || c.instance AS name, s.kind, f.path AS file, i.path AS image, CAST(1 AS BIGINT) AS calls, c.steps_self, c.steps_total
FROM call c JOIN function_symbol s ON s.function_id = c.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id LEFT JOIN image i ON i.image_id = s.image_id
UNION ALL
SELECT n.node, s.name, s.kind, NULL, NULL, 0, NULL, NULL
FROM near n JOIN function_symbol s ON s.function_id = -n.node
UNION ALL
SELECT 0, '(others)', 'others', NULL, NULL, CAST(calls AS BIGINT), CAST(steps_self AS BIGINT), NULL FROM rest WHERE calls > 0;
