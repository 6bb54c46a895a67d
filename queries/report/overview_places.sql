-- What data flowed through.
-- reads: place
-- place_id, via, function_id (pseudo-function that wrote what no step wrote; 0: none)
SELECT place_id, via, coalesce(function_id, 0) AS function_id FROM place;
