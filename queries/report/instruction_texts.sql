-- Executed instructions as text with their source lines.
-- reads: instruction, source_name
-- instruction_id, text, line (file:line, empty: none)
SELECT i.instruction_id, coalesce(i.text, printf('0x%x', i.address)) AS text,
       coalesce(f.name || ':' || i.line, '') AS line
FROM instruction i LEFT JOIN source_name f ON f.file_id = i.file_id ORDER BY i.instruction_id;
