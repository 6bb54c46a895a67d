-- Rows of every table and of the views over the packed low level, in the order of the levels.
-- reads: duckdb_tables, block_run, block_step, block_access, communication_row
-- duckdb-only: asks DuckDB's catalog for the tables
-- table, rows
WITH views AS (
    SELECT 'opcode_line' AS name, sum(r.runs * s.steps)::BIGINT AS rows
    FROM (SELECT block_id, count(*) AS runs FROM block_run GROUP BY ALL) r
    JOIN (SELECT block_id, count(*) AS steps FROM block_step GROUP BY ALL) s USING (block_id)
    UNION ALL
    SELECT 'data_access', sum(r.runs * a.accesses)::BIGINT
    FROM (SELECT block_id, count(*) AS runs FROM block_run GROUP BY ALL) r
    JOIN (SELECT block_id, count(*) AS accesses FROM block_access GROUP BY ALL) a USING (block_id))
SELECT table_name AS "table", estimated_size AS rows FROM duckdb_tables() WHERE NOT temporary AND NOT internal
UNION ALL SELECT name || ' (view)', coalesce(rows, 0) FROM views
ORDER BY 1;
