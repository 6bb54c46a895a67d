-- The labels and how many values and runs each has.
-- theme: the lake
-- reads: label
-- none: no run has labels: addfg collect --label NAME=VALUE sets them
SELECT program, label, count(DISTINCT value) AS of_values, count(*) AS runs, min(value) AS first_value, max(value) AS last_value,
       min(number) AS least, max(number) AS most
FROM label GROUP BY program, label ORDER BY program, label
