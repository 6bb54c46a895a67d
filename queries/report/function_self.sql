-- Steps of functions.
-- reads: function_profile
-- function_id, steps_self
SELECT function_id, coalesce(steps_self, 0) AS steps_self FROM function_profile;
