-- What a trace tells of memory beside steps: what the kernel read and wrote, what was mapped and unmapped, and which sections lay where from when on.
-- reads: mapping_row, system_call, system_call_access, section, image, function_symbol, access_code
-- memory_event: number (from 1, in order), seq (of the window), id (behind the accesses of the step before it: ordinals from 32768 on), kind (a move is a
-- `move_to` and a `move_from`), first, last, path, file, from_address (of a `move_to`)
-- kernel_access: seq (of the window), id (ordinals from 49152 on), is_write, address, bytes, code_id (in access_code: of the pseudo-function),
-- call_id (of a read: one of its own, below 0)
-- kernel_code: code_id, function_id, name
-- interval: interval_id, first: addresses between two places where any of this begins or ends
-- interval_section: interval_id, since (number of an event, 0: always), name, via (NULL: none any more); interval_mapping: interval_id, since
-- touched: pages outside of sections: page, since (of the mapping, 0: none), is_stack
CREATE TEMP TABLE memory_event AS
WITH event AS (
    SELECT rowid AS place, coalesce(seq, 0) AS seq, CASE kind WHEN 'move' THEN 'move_from' ELSE kind END AS kind, address, bytes, path, NULL AS from_address
    FROM mapping_row WHERE bytes > 0 AND kind <> 'memory'
    UNION ALL
    SELECT rowid, coalesce(seq, 0), 'move_to', to_address, bytes, NULL, address FROM mapping_row WHERE bytes > 0 AND kind = 'move')
-- A window ends with a move: what comes behind it is of the next one.
SELECT row_number() OVER (ORDER BY place, kind DESC)::INTEGER AS number,
       greatest(seq, getvariable('first')) + (place > coalesce(min(CASE kind WHEN 'move_to' THEN place END) OVER (PARTITION BY seq), place))::INTEGER AS seq,
       seq * 65536 + 32768 + row_number() OVER (PARTITION BY seq ORDER BY place, kind DESC) AS id, kind, address AS first,
       least(address::HUGEINT + bytes - 1, 18446744073709551615)::UBIGINT AS last, path, regexp_extract(path, '[^/]*$') AS file, from_address
FROM event;
-- Behind the steps' codes. They are of no part.
CREATE TEMP TABLE kernel_code AS
SELECT (SELECT coalesce(max(code_id), 0) FROM access_code) + row_number() OVER () AS code_id, function_id, name
FROM function_symbol WHERE kind = 'pseudo';
INSERT INTO access_code BY NAME SELECT code_id::INTEGER AS code_id, function_id, false AS is_register, false AS is_stack_relative FROM kernel_code;
CREATE TEMP TABLE kernel_access AS
SELECT greatest(s.seq, getvariable('first')) AS seq,
       s.seq * 65536 + 49152 + row_number() OVER (PARTITION BY s.seq ORDER BY s.system_call_id, s.ordinal) AS id, s.is_write, s.address, s.bytes,
       k.code_id::INTEGER AS code_id, CASE WHEN NOT s.is_write THEN -row_number() OVER () END::INTEGER AS call_id
FROM (SELECT a.*, coalesce(c.seq, 0) AS seq FROM system_call_access a JOIN system_call c USING (system_call_id) WHERE a.bytes > 0) s
LEFT JOIN kernel_code k ON k.name = coalesce(s.source, '<kernel>');
-- The mapping with code places an image, from there on its sections have its addresses; what is mapped of a file before, or of others, is the
-- file's.
CREATE TEMP TABLE placed AS
WITH file_map AS (
    FROM memory_event WHERE kind = 'map' AND path LIKE '/%' AND path NOT LIKE '/dev/%' AND path NOT LIKE '/SYSV%'),
image_range AS (
    SELECT image_id, regexp_extract(path, '[^/]*$') AS file, min(s.address) AS first, max(s.address + greatest(s.size, 1) - 1) AS last
    FROM image JOIN section s USING (image_id) GROUP BY ALL),
code AS (
    SELECT image_id, regexp_extract(i.path, '[^/]*$') AS file, min(s.address) AS address FROM image i JOIN section s USING (image_id) WHERE s.executable GROUP BY ALL),
-- Of the first mapping, which is of all of the file, the code has one of its own.
code_map AS (
    SELECT m.number, m.first AS from_address, c.image_id, i.first, i.last
    FROM file_map m JOIN code c ON c.file = m.file AND c.address BETWEEN m.first AND m.last JOIN image_range i USING (image_id)),
placing_map AS (
    SELECT number, image_id, first, last FROM code_map m
    WHERE NOT EXISTS (FROM code_map n WHERE n.image_id = m.image_id AND n.number > m.number AND n.from_address > m.from_address)),
gone AS (
    SELECT p.image_id, p.number, min(u.number) AS until
    FROM placing_map p JOIN memory_event u ON u.kind IN ('unmap', 'move_from') AND u.number > p.number AND u.first <= p.first AND u.last >= p.last GROUP BY ALL),
of_file AS (
    FROM file_map m
    WHERE m.number NOT IN (SELECT number FROM placing_map)
      AND NOT EXISTS (FROM placing_map p JOIN image_range i USING (image_id) LEFT JOIN gone g ON g.image_id = p.image_id AND g.number = p.number
                      WHERE i.file = m.file AND p.number < m.number AND coalesce(g.until, m.number) >= m.number
                        AND m.first BETWEEN p.first // 4096 * 4096 AND p.last))
SELECT s.address AS first, s.address + s.size - 1 AS last, coalesce(p.number, 0) AS since,
       CASE WHEN (SELECT count(*) FROM image) = 1 THEN '<image ' ELSE '<' || regexp_extract(i.path, '[^/]*$') || ' ' END || s.name || '>' AS name,
       CASE WHEN s.writable THEN 'global' ELSE 'constant' END AS via, false AS of_file
FROM section s JOIN image i USING (image_id) LEFT JOIN (SELECT DISTINCT image_id, number FROM placing_map) p USING (image_id) WHERE s.size > 0
UNION ALL
SELECT first, last, number, '<mmap: ' || file || '>', 'global', true FROM of_file
UNION ALL
SELECT first, last, number, '<device ' || path || '>', 'mmio', false FROM memory_event WHERE kind = 'device'
UNION ALL
SELECT first, last, number, NULL, NULL, false FROM memory_event WHERE kind IN ('unmap', 'move_from');
CREATE TEMP TABLE interval AS
SELECT row_number() OVER (ORDER BY first)::INTEGER AS interval_id, first
FROM (SELECT 0::UBIGINT AS first
      UNION SELECT first FROM placed UNION SELECT last + 1 FROM placed WHERE last < 18446744073709551615
      UNION SELECT first FROM memory_event UNION SELECT last + 1 FROM memory_event WHERE last < 18446744073709551615);
CREATE TEMP TABLE interval_section AS
SELECT interval_id, since, any_value(p.name) AS name, any_value(p.via) AS via, bool_or(of_file) AS of_file
FROM interval i JOIN placed p ON i.first BETWEEN p.first AND p.last GROUP BY ALL;
-- Memory without a file is not that of a file which was there before; sections of images go on to be, as .bss does.
INSERT INTO interval_section
SELECT m.interval_id, m.number, NULL, NULL, false
FROM (SELECT interval_id, e.number FROM interval i JOIN memory_event e ON i.first BETWEEN e.first AND e.last
      WHERE e.kind IN ('map', 'move_to') AND (path IS NULL OR path NOT LIKE '/%' OR path LIKE '/dev/%' OR path LIKE '/SYSV%')) m
ASOF JOIN interval_section s ON s.interval_id = m.interval_id AND m.number > s.since WHERE s.of_file;
CREATE TEMP TABLE interval_mapping AS
SELECT interval_id, e.number AS since FROM interval i JOIN memory_event e ON i.first BETWEEN e.first AND e.last WHERE e.kind IN ('map', 'move_to');
INSERT INTO border
SELECT word, bit_or(mask) FROM (SELECT first // 8 AS word, (1 << (first % 8)::INTEGER)::USMALLINT AS mask FROM interval WHERE first % 8 <> 0) GROUP BY ALL;
CREATE TEMP TABLE touched (page UBIGINT, since INTEGER, is_stack BOOLEAN);
