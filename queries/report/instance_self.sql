-- The call instances of TEMP TABLE near, with the steps of the stubs that are merged into them.
-- reads: function_call
-- needs: TEMP TABLE near (node, distance), merged (call_id, into_call_id, steps_self)
-- call_id, function_id, instance, steps_self, steps_total
WITH come AS (SELECT m.into_call_id AS call_id, sum(m.steps_self) AS steps
              FROM merged m JOIN near n ON n.node = m.into_call_id GROUP BY m.into_call_id)
SELECT c.call_id, c.function_id, c.instance, CAST(c.steps_self + coalesce(come.steps, 0) AS BIGINT) AS steps_self, c.steps_total
FROM function_call c JOIN near n ON n.node = c.call_id LEFT JOIN come ON come.call_id = c.call_id;
