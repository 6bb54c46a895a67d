-- Variables that a name or FILE:NAME means.
-- reads: variable, source_name
-- param text VARCHAR: name, or path or its last parts and the name
-- variable_id, path (of the source file, if it is known)
SELECT v.variable_id, f.path
FROM (SELECT CAST(? AS VARCHAR) AS text) t, variable v
LEFT JOIN source_name f ON f.file_id = v.file_id
WHERE v.name = t.text OR f.path || ':' || v.name = t.text
   OR substr(f.path || ':' || v.name, -length(t.text) - 1) = '/' || t.text
ORDER BY 1;
