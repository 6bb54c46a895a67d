-- The columns of a table or view, with what they mean and what NULL means in them.
-- theme: schema
-- needs: summary
-- param table name: a table or view, as @tables lists them
-- none: there is no such table or view: addfg sql DB @tables lists them
SELECT c.column_name AS "column", c.data_type AS type, c.is_nullable AS "may be NULL",
       coalesce(c.comment, (SELECT min(o.comment) FROM duckdb_columns() o
                            WHERE o.column_name = c.column_name AND o.data_type = c.data_type AND NOT o.internal HAVING count(DISTINCT o.comment) = 1)) AS means
FROM duckdb_columns() c WHERE c.table_name = $1 AND NOT c.internal ORDER BY c.column_index;
