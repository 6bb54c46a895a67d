-- Mappings of files that give memory what the file holds, in order: of a file that is no image, or before the code of the image is mapped.
-- From there on its sections have its addresses (docs/semantics.md).
-- reads: mapping_row, image, section
-- duckdb-only: takes files by a regular expression
-- seq (last step before it; 0: none), process_id, address, bytes, source
WITH file_map AS (
    SELECT rowid AS place, coalesce(seq, 0) AS seq, process_id, address, bytes, regexp_extract(path, '[^/]*$') AS file
    FROM mapping_row WHERE kind = 'map' AND bytes > 0 AND path LIKE '/%' AND path NOT LIKE '/dev/%' AND path NOT LIKE '/SYSV%'),
image_range AS (
    SELECT image_id, regexp_extract(i.path, '[^/]*$') AS file, min(s.address) AS first, max(s.address + greatest(s.size, 1) - 1) AS last,
           min(CASE WHEN s.executable THEN s.address END) AS code
    FROM image i JOIN section s USING (image_id) GROUP BY ALL),
-- Of the first mapping, which is of all of the file, the code has one of its own.
placed AS (
    SELECT file, i.first, i.last, m.place FROM file_map m JOIN image_range i USING (file) WHERE i.code BETWEEN m.address AND m.address + m.bytes - 1
    QUALIFY row_number() OVER (PARTITION BY image_id ORDER BY m.address DESC, m.place) = 1)
SELECT seq, process_id, address, bytes, '<mmap: ' || file || '>' AS source FROM file_map m
WHERE NOT EXISTS (FROM placed p WHERE p.file = m.file AND p.place <= m.place AND m.address BETWEEN p.first // 4096 * 4096 AND p.last)
ORDER BY seq, place;
