-- Kinds of problems met while building, the worst first.
-- reads: diagnostic
-- severity, code, count, message (the first), at (its position), remedy
SELECT severity, code, count, message, first_position AS at, remedy
FROM diagnostic
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, code;
