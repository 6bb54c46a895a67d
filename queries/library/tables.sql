-- Tables and views, with what they hold.
-- theme: schema
-- needs: summary
-- none: the database has no tables
SELECT table_name AS "table", 'table' AS kind, comment AS holds FROM duckdb_tables() WHERE NOT internal AND NOT temporary
UNION ALL
SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal AND NOT temporary
ORDER BY ALL;
