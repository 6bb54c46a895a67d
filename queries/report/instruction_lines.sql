-- Source lines of executed instructions.
-- reads: instruction, source_name
-- instruction_id, file (without folders), line
SELECT i.instruction_id, coalesce(f.name, '') AS file, i.line
FROM instruction i LEFT JOIN source_name f ON f.file_id = i.file_id WHERE i.line IS NOT NULL;
