-- Variables that two values of a label have with another size or type, or that only one of them has.
-- theme: changes
-- reads: variable, label
-- param label value: label that says which side a run is on, such as commit
-- param before value: its value before
-- param after value: its value after
-- none: the variables are the same, or no run has that label
WITH side AS (
    SELECT run_id, CASE WHEN value = $2 THEN 0 ELSE 1 END AS is_after FROM label WHERE label = $1 AND (value = $2 OR value = $3)),
total AS (
    SELECT v.program, v.variable, v.file, min(CASE WHEN s.is_after = 0 THEN v.bytes END) AS bytes_before,
           min(CASE WHEN s.is_after = 1 THEN v.bytes END) AS bytes_after, min(CASE WHEN s.is_after = 0 THEN v.type END) AS type_before,
           min(CASE WHEN s.is_after = 1 THEN v.type END) AS type_after
    FROM variable v JOIN side s ON s.run_id = v.run_id GROUP BY v.program, v.variable, v.file)
SELECT program, variable, file, bytes_before, bytes_after, type_before, type_after
FROM total
WHERE coalesce(bytes_before, -1) <> coalesce(bytes_after, -1) OR coalesce(type_before, '') <> coalesce(type_after, '')
ORDER BY program, variable, file
