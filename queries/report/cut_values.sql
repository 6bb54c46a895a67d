-- Whether the runs have values of what is read and written, and whether copies hand writers on (--through).
-- reads: block_run, meta
-- duckdb-only: reads the low level
-- has_values, copies
SELECT EXISTS (FROM block_run WHERE value IS NOT NULL) AS has_values,
       (SELECT count(value) > 0 FROM meta WHERE key = 'through') AS copies;
