-- Functions that lists of a program leave out: start-up and end, the dynamic linker.
-- reads: start_up_function, function_profile
-- function_id, steps (its own)
SELECT s.function_id, coalesce(p.steps_self, 0) AS steps
FROM start_up_function s LEFT JOIN function_profile p ON p.function_id = s.function_id ORDER BY s.function_id;
