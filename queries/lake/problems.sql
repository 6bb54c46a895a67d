-- Kinds of problems met while the runs were built.
-- theme: the lake
-- reads: problem
-- none: the runs are clean
SELECT program, severity, code, count(*) AS runs, CAST(sum(count) AS BIGINT) AS times, min(message) AS example, min(remedy) AS remedy
FROM problem GROUP BY program, severity, code ORDER BY severity, code, program
