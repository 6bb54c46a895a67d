-- Where sections, regions, devices and variables begin and end: first addresses of the pieces of memory.
-- reads: section, region, mapping, variable, meta
-- duckdb-only: addresses up to 2^64 take wider integers than SQLite's
-- start
WITH edge AS (
    SELECT 0::HUGEINT AS a
    UNION SELECT address FROM section UNION SELECT address::HUGEINT + size FROM section
    UNION SELECT address FROM mapping WHERE kind = 'device' UNION SELECT address::HUGEINT + bytes FROM mapping WHERE kind = 'device'
    UNION SELECT first_address FROM region UNION SELECT last_address::HUGEINT + 1 FROM region
    UNION SELECT address FROM variable UNION SELECT address::HUGEINT + size FROM variable
    UNION SELECT value::HUGEINT FROM meta WHERE key = 'first_stack_pointer' AND value IS NOT NULL)
SELECT CAST(a AS UBIGINT) AS start FROM edge WHERE a < 18446744073709551616;
