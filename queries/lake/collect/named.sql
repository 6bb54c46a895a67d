-- Functions of one run as all builds call them: without the suffixes of compilers (f.part.0 and f.isra.0 are f), the file beside the name, the
-- program's own ELF file under the name of the program.
-- reads: function_symbol, source_name, image, input
CREATE TEMP TABLE named AS
WITH main AS (
    SELECT regexp_replace(path, '^.*/', '') AS main FROM input WHERE role = 'elf' AND path IS NOT NULL ORDER BY input_id LIMIT 1),
shown AS (
    SELECT f.function_id, f.kind, coalesce(s.name, '') AS file, coalesce(regexp_replace(i.path, '^.*/', ''), '') AS image, f.size,
           CASE WHEN s.name IS NOT NULL AND ends_with(f.name, ' (' || s.name || ')')
                THEN f.name[:length(f.name) - length(s.name) - 3] ELSE f.name END AS name, (SELECT main FROM main) AS main
    FROM function_symbol f LEFT JOIN source_name s USING (file_id) LEFT JOIN image i USING (image_id)),
own AS (
    SELECT * REPLACE (CASE WHEN starts_with(name, '<' || main || ' ') THEN '<' || lake_program() || name[length(main) + 2:]
                           WHEN ends_with(name, ' (' || main || ')') THEN name[:length(name) - length(main) - 1] || lake_program() || ')'
                           WHEN starts_with(name, main || '+0x') THEN lake_program() || name[length(main) + 1:]
                           WHEN name = '<mmap: ' || main || '>' THEN '<mmap: ' || lake_program() || '>' ELSE name END AS name,
                      CASE WHEN image = main THEN lake_program() ELSE image END AS image)
    FROM shown)
SELECT function_id, regexp_replace(name, '(.)\.(part|isra|constprop|cold|lto_priv)\b.*$', '\1') AS function, file, image, kind, size
FROM own;
