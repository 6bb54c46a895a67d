-- function_profile with stubs merged into their callers.
-- reads: function_profile, folded_call
-- as the table function_profile_folded
WITH folded AS (FROM folded_call WHERE into_call_id <> call_id),
gone AS (SELECT function_id, count(*) AS calls, sum(steps_self) AS steps FROM folded GROUP BY ALL),
come AS (SELECT into_function_id AS function_id, sum(steps_self) AS steps FROM folded GROUP BY ALL)
SELECT p.function_id, p.calls - coalesce(gone.calls, 0) AS calls,
       (p.steps_self - coalesce(gone.steps, 0) + coalesce(come.steps, 0))::BIGINT AS steps_self,
       CASE WHEN gone.calls IS NULL THEN p.steps_total END AS steps_total
FROM function_profile p LEFT JOIN gone USING (function_id) LEFT JOIN come USING (function_id)
WHERE coalesce(p.calls > coalesce(gone.calls, 0), true)
ORDER BY function_id
