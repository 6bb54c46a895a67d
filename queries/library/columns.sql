-- The columns of a table or view, with what they mean and what NULL means in them.
-- theme: schema
-- needs: summary
-- param table name: a table or view, as @tables lists them
-- none: there is no such table or view: addfg sql DB @tables lists them
WITH said AS (SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal AND comment IS NOT NULL),
-- What a column of a view means is said at the table that the view takes it from.
source AS (SELECT s.column_name, arg_min(s.comment, position(s.table_name IN v.sql)) AS comment
           FROM duckdb_views() v JOIN said s ON regexp_matches(v.sql, '\b' || s.table_name || '\b')
           WHERE v.view_name = $1 AND NOT v.internal GROUP BY s.column_name)
SELECT c.column_name AS "column", c.data_type AS type, c.is_nullable AS "may be NULL",
       coalesce(c.comment, f.comment, (SELECT min(o.comment) FROM said o WHERE o.column_name = c.column_name AND o.data_type = c.data_type
                                       HAVING count(DISTINCT o.comment) = 1)) AS means
FROM duckdb_columns() c LEFT JOIN source f ON f.column_name = c.column_name
WHERE c.table_name = $1 AND NOT c.internal ORDER BY c.column_index;
