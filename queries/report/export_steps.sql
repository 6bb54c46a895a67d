-- Steps by function and source line; what of a function has no executed instructions in the database is on line 0.
-- reads: instruction, function_profile
-- function_id, file_id, line, steps
SELECT function_id, file_id, coalesce(line, 0) AS line, CAST(sum(executions) AS BIGINT) AS steps
FROM instruction GROUP BY function_id, file_id, coalesce(line, 0)
UNION ALL
SELECT p.function_id, NULL, 0, CAST(p.steps_self - coalesce(i.steps, 0) AS BIGINT)
FROM function_profile p
LEFT JOIN (SELECT function_id, sum(executions) AS steps FROM instruction GROUP BY function_id) i ON i.function_id = p.function_id
WHERE p.steps_self > coalesce(i.steps, 0)
ORDER BY 1, 2, 3;
