-- What there is to place on a timeline.
-- reads: function_call
-- by_step, by_time (calls with a place), deeper (calls below depth 63), calls
SELECT count(*) FILTER (WHERE call_seq IS NOT NULL AND return_seq >= call_seq) AS by_step,
       count(*) FILTER (WHERE call_time IS NOT NULL AND return_time >= call_time) AS by_time,
       count(*) FILTER (WHERE depth > 63) AS deeper, count(*) AS calls
FROM function_call;
