-- Executed instructions of a source line.
-- reads: instruction, source_name
-- param file VARCHAR: path, or its last parts
-- param line INTEGER: line
-- instruction_id, path
SELECT i.instruction_id, f.path
FROM instruction i JOIN source_name f USING (file_id)
WHERE (f.path = $1 OR f.name = $1 OR substr(f.path, -length($1) - 1) = '/' || $1) AND i.line = $2
ORDER BY 1;
