-- Memory cut where sections, regions and variables begin and end, so that one ASOF look-up says what an address is in.
-- reads: section, region, image, mapping, variable, meta
-- duckdb-only: addresses up to 2^64 take wider integers than SQLite's
-- start (first address of a piece; it ends where the next begins), via, unwritten, unwritten_long (names of the pseudo-function that
-- bytes come from that no step wrote), variable_id (the smallest that covers the piece)
WITH edge AS (
    SELECT 0::HUGEINT AS a
    UNION SELECT address FROM section UNION SELECT address::HUGEINT + size FROM section
    UNION SELECT address FROM mapping WHERE kind = 'device' UNION SELECT address::HUGEINT + bytes FROM mapping WHERE kind = 'device'
    UNION SELECT first_address FROM region UNION SELECT last_address::HUGEINT + 1 FROM region
    UNION SELECT address FROM variable UNION SELECT address::HUGEINT + size FROM variable
    UNION SELECT value::HUGEINT FROM meta WHERE key = 'first_stack_pointer' AND value IS NOT NULL),
piece AS (SELECT a::UBIGINT AS start FROM edge WHERE a < 18446744073709551616),
unwritten AS (SELECT coalesce(max(value), '<input>') AS name FROM meta WHERE key = 'unwritten'),
top AS (SELECT max(value::UBIGINT) AS address FROM meta WHERE key = 'first_stack_pointer'),
covered AS (
    SELECT p.start, arg_min(v.variable_id, (v.size, v.variable_id)) AS variable_id
    FROM piece p JOIN variable v ON p.start >= v.address AND p.start - v.address < v.size
    GROUP BY ALL),
sectioned AS (
    SELECT p.start, arg_min(s.section_id, (s.size, s.section_id)) AS section_id
    FROM piece p JOIN section s ON p.start >= s.address AND p.start - s.address < s.size
    GROUP BY ALL),
device AS (
    SELECT p.start, '<device ' || min(m.path) || '>' AS name
    FROM piece p JOIN mapping m ON m.kind = 'device' AND p.start >= m.address AND p.start - m.address < m.bytes GROUP BY ALL),
regioned AS (
    SELECT p.start, min(r.via) AS via FROM piece p JOIN region r ON p.start BETWEEN r.first_address AND r.last_address GROUP BY ALL)
SELECT p.start, CASE WHEN d.start IS NOT NULL THEN 'mmio' WHEN s.writable THEN 'global' WHEN NOT s.writable THEN 'constant' ELSE coalesce(r.via, 'heap') END AS via,
       CASE WHEN d.start IS NOT NULL THEN d.name WHEN s.section_id IS NOT NULL THEN '<image ' || s.name || '>'
            WHEN r.via IS DISTINCT FROM 'stack' THEN unwritten.name
            WHEN p.start >= top.address THEN '<stack start>'
            ELSE '<uninitialised>' END AS unwritten,
       CASE WHEN d.start IS NULL THEN '<' || parse_filename(i.path) || ' ' || s.name || '>' END AS unwritten_long, covered.variable_id
FROM piece p CROSS JOIN top CROSS JOIN unwritten
LEFT JOIN sectioned ON sectioned.start = p.start LEFT JOIN section s ON s.section_id = sectioned.section_id
LEFT JOIN image i ON i.image_id = s.image_id
LEFT JOIN device d ON d.start = p.start LEFT JOIN regioned r ON r.start = p.start LEFT JOIN covered ON covered.start = p.start;
