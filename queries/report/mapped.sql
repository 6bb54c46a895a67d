-- What was mapped from files and as devices, and what was unmapped, in order.
-- reads: mapping_row
-- duckdb-only: takes files by a regular expression
-- seq (last step before it; 0: none), process_id, kind (map, device, unmap), address, bytes, name (of the file without folders, or of the
-- device; NULL: memory without a file)
SELECT coalesce(seq, 0) AS seq, process_id, kind, address, bytes, name
FROM (SELECT rowid AS place, seq, process_id, CASE WHEN kind = 'move' THEN 'unmap' ELSE kind END AS kind, address, bytes,
             CASE WHEN kind = 'device' THEN path
                  WHEN path LIKE '/%' AND path NOT LIKE '/dev/%' AND path NOT LIKE '/SYSV%' THEN regexp_extract(path, '[^/]*$') END AS name
      FROM mapping_row WHERE kind IN ('map', 'device', 'unmap', 'move')
      UNION ALL
      SELECT rowid, seq, process_id, 'map', to_address, bytes, NULL FROM mapping_row WHERE kind = 'move')
WHERE bytes > 0 ORDER BY place, kind DESC;
