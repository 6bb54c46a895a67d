-- Nodes of the instance level: those of TEMP TABLE near, and as node 0 the sum of all call instances beside them.
-- reads: function_profile, function_symbol, source_file, image
-- needs: TEMP TABLE near (node, distance), near_call (as instance_self.sql gives), merged (call_id, into_call_id)
-- node, name, kind, file, image (paths), calls, steps_self, steps_total (inclusive), functions (distinct)
-- All less those.
WITH rest AS (
    SELECT sum(calls) - (SELECT count(*) FROM merged) - (SELECT count(*) FROM near_call) AS calls,
           sum(steps_self) - coalesce((SELECT sum(steps_self) FROM near_call), 0) AS steps_self
    FROM function_profile)
SELECT CAST(c.call_id AS BIGINT) AS node, s.name || '#' || c.instance AS name, s.kind, f.path AS file, i.path AS image, CAST(1 AS BIGINT) AS calls, c.steps_self, c.steps_total
FROM near_call c JOIN function_symbol s ON s.function_id = c.function_id
LEFT JOIN source_file f ON f.file_id = s.file_id LEFT JOIN image i ON i.image_id = s.image_id
UNION ALL
SELECT n.node, s.name, s.kind, NULL, NULL, 0, NULL, NULL
FROM near n JOIN function_symbol s ON s.function_id = -n.node
UNION ALL
SELECT 0, '(others)', 'others', NULL, NULL, CAST(calls AS BIGINT), CAST(steps_self AS BIGINT), NULL FROM rest WHERE calls > 0;
