-- Images with the addresses that their sections, else their executed instructions or, without any, their blocks and symbols, span.
-- reads: image, section, instruction, basic_block, function_symbol
-- duckdb-only: orders unsigned addresses
-- image_id, path, first_address, last_address (of the last byte)
WITH part AS (
    SELECT image_id, address, size::UBIGINT AS size FROM section
    UNION ALL SELECT image_id, address, size FROM instruction WHERE image_id IS NOT NULL
    UNION ALL FROM (
        SELECT image_id, address, size::UBIGINT AS size FROM basic_block WHERE address IS NOT NULL
        UNION ALL SELECT image_id, address, coalesce(size, 0) FROM function_symbol WHERE address IS NOT NULL
        UNION ALL SELECT image_id, bias, 0 FROM image WHERE bias IS NOT NULL)
    WHERE NOT EXISTS (FROM instruction))
SELECT i.image_id, i.path, min(p.address) AS first_address, max(p.address + greatest(p.size, 1) - 1) AS last_address
FROM image i JOIN part p USING (image_id) GROUP BY ALL ORDER BY i.image_id;
