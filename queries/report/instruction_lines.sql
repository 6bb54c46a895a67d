-- Source lines of executed instructions.
-- reads: instruction, source_file
-- instruction_id, file (without folders), line
SELECT i.instruction_id, coalesce(parse_filename(f.path), '') AS file, i.line
FROM instruction i LEFT JOIN source_file f ON f.file_id = i.file_id WHERE i.line IS NOT NULL;
