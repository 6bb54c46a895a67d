-- Global and static variables of the program, those that the source files declare
-- reads: variable, source_name, image
-- column variable_key BIGINT: The same in all runs: of program, name and file
-- column variable VARCHAR: Name
-- column file VARCHAR: Source file that declares it, without folders
-- column line INTEGER: Line of the declaration, NULL if not known
-- column image VARCHAR: ELF file without its folders, empty if none
-- column type VARCHAR: C type, NULL if not known
-- column bytes BIGINT: Size
SELECT lake_key('variable', v.name, s.name, '', '', '') AS variable_key, v.name AS variable, s.name AS file, v.line,
       coalesce(regexp_replace(i.path, '^.*/', ''), '') AS image, v.type_name AS type, CAST(v.size AS BIGINT) AS bytes
FROM variable v JOIN source_name s USING (file_id) LEFT JOIN image i USING (image_id)
ORDER BY variable, file, line, bytes
