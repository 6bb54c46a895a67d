-- Executed instructions of a source line.
-- reads: instruction, source_name
-- param file VARCHAR: path, or its last part
-- param line INTEGER: line
-- instruction_id
SELECT i.instruction_id
FROM instruction i JOIN source_name f USING (file_id)
WHERE (f.path = $1 OR f.name = $1) AND i.line = $2;
