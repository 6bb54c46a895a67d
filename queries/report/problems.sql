-- Kinds of problems met while building that a picture must tell of, the worst first.
-- reads: diagnostic
-- severity, message (the first), count
SELECT severity, message, count
FROM diagnostic WHERE severity IN ('error', 'warning')
ORDER BY CASE severity WHEN 'error' THEN 0 ELSE 1 END, count DESC, code;
