-- Memory cut where sections, regions and variables begin and end, so that one ASOF look-up says what an address is in.
-- reads: section, region, image, mapping, variable, meta
-- needs: TEMP TABLE memory_piece (as memory_pieces.sql gives): with a table DuckDB knows how many there are, and joins in a twentieth
-- of the time
-- duckdb-only: addresses up to 2^64 take wider integers than SQLite's
-- start (first address of a piece; it ends where the next begins), via, unwritten (name of the pseudo-function that bytes come from that
-- no step wrote), variable_id (the smallest that covers the piece)
WITH unwritten AS (SELECT coalesce(max(value), '<input>') AS name FROM meta WHERE key = 'unwritten'),
top AS (SELECT max(value::UBIGINT) AS address FROM meta WHERE key = 'first_stack_pointer'),
covered AS (
    SELECT p.start, arg_min(v.variable_id, (v.size, v.variable_id)) AS variable_id
    FROM memory_piece p JOIN variable v ON p.start >= v.address AND p.start < v.address::HUGEINT + v.size
    GROUP BY ALL),
sectioned AS (
    SELECT p.start, arg_min(s.section_id, (s.size, s.section_id)) AS section_id
    FROM memory_piece p JOIN section s ON p.start >= s.address AND p.start - s.address < s.size
    GROUP BY ALL),
device AS (
    SELECT p.start, '<device ' || min(m.path) || '>' AS name
    FROM memory_piece p JOIN mapping m ON m.kind = 'device' AND p.start >= m.address AND p.start - m.address < m.bytes GROUP BY ALL),
regioned AS (
    SELECT p.start, min(r.via) AS via FROM memory_piece p JOIN region r ON p.start BETWEEN r.first_address AND r.last_address GROUP BY ALL)
SELECT p.start, CASE WHEN d.start IS NOT NULL THEN 'mmio' WHEN s.writable THEN 'global' WHEN NOT s.writable THEN 'constant' ELSE coalesce(r.via, 'heap') END AS via,
       CASE WHEN d.start IS NOT NULL THEN d.name WHEN s.section_id IS NOT NULL AND i.image_id IS NULL THEN s.name
            WHEN s.section_id IS NOT NULL AND (SELECT count(*) FROM image) = 1 THEN '<image ' || s.name || '>'
            WHEN s.section_id IS NOT NULL THEN '<' || parse_filename(i.path) || ' ' || s.name || '>'
            WHEN r.via IS DISTINCT FROM 'stack' THEN unwritten.name
            WHEN p.start >= top.address THEN '<stack start>'
            ELSE '<uninitialised>' END AS unwritten, covered.variable_id
FROM memory_piece p CROSS JOIN top CROSS JOIN unwritten
LEFT JOIN sectioned ON sectioned.start = p.start LEFT JOIN section s ON s.section_id = sectioned.section_id
LEFT JOIN image i ON i.image_id = s.image_id
LEFT JOIN device d ON d.start = p.start LEFT JOIN regioned r ON r.start = p.start LEFT JOIN covered ON covered.start = p.start;
