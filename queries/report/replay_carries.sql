-- Whose registers a run has, and whether with values.
-- reads: meta, input
-- isa (instruction set), valued (traces that carry register values), formats (of all traces)
SELECT (SELECT max(value) FROM meta WHERE key = 'isa') AS isa, sum(CASE WHEN carries_values THEN 1 ELSE 0 END) AS valued,
       max(format) AS formats
FROM input WHERE role = 'trace';
