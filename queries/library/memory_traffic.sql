-- Loads and stores of each memory and device, by function and by thread or core.
-- theme: data
-- needs: pairs
-- param rows count = 20: rows at most, 0 for all
-- none: no step accessed memory
WITH edge AS (
    SELECT 0::HUGEINT AS a
    UNION SELECT address FROM mapping WHERE kind IN ('memory', 'device') AND bytes > 0
    UNION SELECT address::HUGEINT + bytes FROM mapping WHERE kind IN ('memory', 'device') AND bytes > 0
    UNION SELECT address FROM section UNION SELECT address::HUGEINT + size FROM section
    UNION SELECT first_address FROM region UNION SELECT last_address::HUGEINT + 1 FROM region),
cut AS (SELECT a AS first, lead(a, 1, 18446744073709551616::HUGEINT) OVER (ORDER BY a) - 1 AS last FROM edge WHERE a < 18446744073709551616),
-- A device lies over a memory. What has no name is told by section, else by what it is to the program.
given AS (
    SELECT c.first, arg_min(m.path, (m.kind, m.bytes, m.path)) AS name, min(m.kind) AS kind
    FROM cut c JOIN mapping m ON m.kind IN ('memory', 'device') AND c.first >= m.address AND c.first < m.address::HUGEINT + m.bytes GROUP BY ALL),
sectioned AS (
    SELECT c.first, arg_min(s.name, (s.size, s.section_id)) AS name
    FROM cut c JOIN section s ON c.first >= s.address AND c.first < s.address::HUGEINT + s.size GROUP BY ALL),
regioned AS (SELECT c.first, min(r.via) AS name FROM cut c JOIN region r ON c.first BETWEEN r.first_address AND r.last_address GROUP BY ALL),
called AS (
    SELECT c.first, c.last, coalesce(g.name, s.name, r.name, 'no name') AS name,
           coalesce(g.kind, CASE WHEN s.name IS NOT NULL THEN 'section' ELSE 'other' END) AS kind
    FROM cut c LEFT JOIN given g USING (first) LEFT JOIN sectioned s USING (first) LEFT JOIN regioned r USING (first)),
-- Neighbours of one name are one piece, so that an access of both is one.
piece AS (
    SELECT min(first) AS first, max(last) AS last, name, kind
    FROM (SELECT *, count(*) FILTER (is_new) OVER (ORDER BY first) AS island
          FROM (SELECT *, (name, kind) IS DISTINCT FROM lag((name, kind)) OVER (ORDER BY first) AS is_new FROM called))
    GROUP BY island, name, kind),
touched AS (
    SELECT i.function_id, r.thread_id, a.is_write, r.address[a.memory_index + 1] AS address, a.size, count(*) AS n
    FROM block_run r JOIN block_access a USING (block_id) JOIN block_step s USING (block_id, step) JOIN instruction i USING (instruction_id)
    WHERE a.space = 'memory' AND NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no) GROUP BY ALL),
part AS (
    SELECT t.* EXCLUDE (address, size), p.name, p.kind, greatest(t.address, p.first) AS first, least(t.address::HUGEINT + t.size - 1, p.last) AS last
    FROM touched t JOIN piece p ON t.address <= p.last AND t.address::HUGEINT + t.size > p.first),
-- Bytes that no part before has: together they are the addresses.
new AS (
    SELECT *, greatest(0, last - greatest(first - 1, coalesce(max(last) OVER (PARTITION BY kind, name, function_id, thread_id
        ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1))) AS addresses FROM part)
SELECT n.name AS memory, n.kind, f.name AS function, n.thread_id AS thread,
       coalesce(sum(n) FILTER (NOT is_write), 0)::BIGINT AS loads, coalesce(sum(n * (last - first + 1)) FILTER (NOT is_write), 0)::BIGINT AS load_bytes,
       coalesce(sum(n) FILTER (is_write), 0)::BIGINT AS stores, coalesce(sum(n * (last - first + 1)) FILTER (is_write), 0)::BIGINT AS store_bytes,
       sum(addresses)::BIGINT AS addresses
FROM new n JOIN function_symbol f USING (function_id)
GROUP BY n.name, n.kind, f.name, f.function_id, n.thread_id
ORDER BY list_position(['memory', 'device', 'section', 'other'], n.kind), n.name, load_bytes + store_bytes DESC, f.function_id, n.thread_id LIMIT $1;
