-- Functions of one run as all builds call them: without the suffixes of compilers (f.part.0 and f.isra.0 are f), the file beside the name, the
-- program's own ELF file under the name of the program, and no load address: `f (@0x4a752b0)` is `f (libc.so.6+0x2b0)`.
-- reads: function_symbol, start_up_function, source_name, image, input
CREATE TEMP TABLE named AS
WITH main AS (
    SELECT regexp_replace(path, '^.*/', '') AS main FROM input WHERE role = 'elf' AND path IS NOT NULL ORDER BY input_id LIMIT 1),
shown AS (
    SELECT f.function_id, f.kind, coalesce(s.name, '') AS file, coalesce(regexp_replace(i.path, '^.*/', ''), '') AS image, f.size,
           coalesce(f.owner, '') AS owner,
           CASE WHEN f.owner = 'linker' OR f.kind = 'stub' OR f.function_id IN (SELECT function_id FROM start_up_function) THEN 1
                ELSE 0 END AS start_up,
           -- Where it lies in its image: the same in every run of the same file.
           CASE WHEN f.address IS NOT NULL AND i.bias IS NOT NULL
                THEN format('{:x}', CAST((CAST(f.address AS HUGEINT) - CAST(i.bias AS HUGEINT) + 18446744073709551616) % 18446744073709551616
                                         AS UBIGINT)) END AS place,
           CASE WHEN s.name IS NOT NULL AND ends_with(f.name, ' (' || s.name || ')')
                THEN f.name[:length(f.name) - length(s.name) - 3] ELSE f.name END AS name, (SELECT main FROM main) AS main
    FROM function_symbol f LEFT JOIN source_name s USING (file_id) LEFT JOIN image i USING (image_id)),
own AS (
    SELECT * REPLACE (CASE WHEN place IS NOT NULL AND regexp_matches(name, ' \(@0x[0-9a-f]+\)$')
                           THEN regexp_replace(name, ' \(@0x[0-9a-f]+\)$', '') || ' (' || CASE WHEN image = main THEN lake_program() ELSE image END
                                || '+0x' || place || ')'
                           WHEN starts_with(name, '<' || main || ' ') THEN '<' || lake_program() || name[length(main) + 2:]
                           WHEN ends_with(name, ' (' || main || ')') THEN name[:length(name) - length(main) - 1] || lake_program() || ')'
                           WHEN starts_with(name, main || '+0x') THEN lake_program() || name[length(main) + 1:]
                           WHEN name = '<mmap: ' || main || '>' THEN '<mmap: ' || lake_program() || '>' ELSE name END AS name,
                      CASE WHEN image = main THEN lake_program() ELSE image END AS image)
    FROM shown)
SELECT function_id, regexp_replace(name, '(.)\.(part|isra|constprop|cold|lto_priv)\b.*$', '\1') AS function, file, image, kind, size, owner, start_up
FROM own;
