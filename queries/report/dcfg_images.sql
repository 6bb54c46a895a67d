-- Images with the addresses that their sections, else their executed instructions, span.
-- reads: image, section, instruction
-- duckdb-only: orders unsigned addresses
-- image_id, path, first_address, last_address (of the last byte)
WITH part AS (
    SELECT image_id, address, size::UBIGINT AS size FROM section
    UNION ALL SELECT image_id, address, size FROM instruction WHERE image_id IS NOT NULL)
SELECT i.image_id, i.path, min(p.address) AS first_address, max(p.address + greatest(p.size, 1) - 1) AS last_address
FROM image i JOIN part p USING (image_id) GROUP BY ALL ORDER BY i.image_id;
