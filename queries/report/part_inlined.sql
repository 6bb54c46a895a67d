-- Functions that the compiler inlined as parts of the functions to expand: all calls of one that a function has are one part, and what is
-- the function's own is one.
-- reads: instruction, inlined_instruction, inlined_call
-- needs: TEMP TABLE expanded (function_id)
-- instruction_id, node
SELECT i.instruction_id, min(i.instruction_id) OVER (PARTITION BY i.function_id, c.name) AS node
FROM instruction i LEFT JOIN inlined_instruction n ON n.instruction_id = i.instruction_id
LEFT JOIN inlined_call c ON c.inlined_call_id = n.inlined_call_id
WHERE i.function_id IN (SELECT function_id FROM expanded);
