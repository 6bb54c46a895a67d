-- Variables that a name or FILE:NAME means: the whole name, else as tables show it (without parameters), else its end.
-- reads: variable, source_name
-- duckdb-only: regexp_replace
-- param text VARCHAR: name, or path or its last parts and the name
-- variable_id, path (of the source file, if it is known)
WITH named AS (
    SELECT v.variable_id, f.path, h.how, CASE h.how WHEN 0 THEN v.name WHEN 1 THEN regexp_replace(v.name, '\([^()]*\)', '', 'g')
                                                    ELSE regexp_extract(v.name, '[^:]*$') END AS name,
           replace(CAST(? AS VARCHAR), '(anonymous namespace)', '_GLOBAL__N_1') AS text
    FROM variable v CROSS JOIN (VALUES (0), (1), (2)) h(how) LEFT JOIN source_name f ON f.file_id = v.file_id
), found AS (
    SELECT * FROM named
    WHERE name = text OR path || ':' || name = text OR substr(path || ':' || name, -length(text) - 1) = '/' || text
       OR (how = 1 AND ends_with(name, '::' || text))
)
SELECT DISTINCT variable_id, path FROM found WHERE how = (SELECT min(how) FROM found) ORDER BY 1;
