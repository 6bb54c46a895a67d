-- Instructions of inlined calls.
-- reads: inlined_instruction, inlined_call, source_name
-- instruction_id, name (the function that was inlined), file (where it is called, without folders), line
SELECT n.instruction_id, c.name, f.name AS file, c.line
FROM inlined_instruction n JOIN inlined_call c ON c.inlined_call_id = n.inlined_call_id LEFT JOIN source_name f ON f.file_id = c.file_id;
