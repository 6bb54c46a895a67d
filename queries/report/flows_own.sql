-- What functions that are in both sets read of what they wrote themselves.
-- reads: function_edge
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- functions, bytes
SELECT count(DISTINCT reader_function_id) AS functions, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes
FROM function_edge
WHERE writer_function_id = reader_function_id AND bytes > 0
  AND writer_function_id IN (SELECT function_id FROM writer_function)
  AND reader_function_id IN (SELECT function_id FROM reader_function);
