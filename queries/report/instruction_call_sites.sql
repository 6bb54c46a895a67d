-- Of instructions of inlined calls the place in the function itself where the outermost of these calls stands.
-- reads: inlined_instruction, inlined_call, source_name
-- instruction_id, file (without folders), line
WITH RECURSIVE up AS (
    SELECT inlined_call_id AS id, inlined_call_id AS top, parent_inlined_call_id AS parent FROM inlined_call
    UNION ALL SELECT u.id, c.inlined_call_id, c.parent_inlined_call_id FROM up u JOIN inlined_call c ON c.inlined_call_id = u.parent)
SELECT i.instruction_id, f.name AS file, c.line
FROM inlined_instruction i JOIN up u ON u.id = i.inlined_call_id AND u.parent IS NULL JOIN inlined_call c ON c.inlined_call_id = u.top
JOIN source_name f ON f.file_id = c.file_id
WHERE c.line IS NOT NULL
ORDER BY i.instruction_id;
