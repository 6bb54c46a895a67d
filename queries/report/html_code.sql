-- Executed instructions of source lines, by line and address.
-- reads: instruction
-- file_id, line, address (hexadecimal), text, executions
SELECT file_id, line, printf('0x%x', address) AS address, text, executions
FROM instruction WHERE file_id IS NOT NULL AND line IS NOT NULL AND executions > 0 AND text IS NOT NULL
ORDER BY file_id, line, instruction.address, instruction_id;
