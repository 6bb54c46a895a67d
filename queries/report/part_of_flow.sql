-- Parts that were found from the executed control flow, of the functions to expand. Instructions in no interval are parts of their own.
-- reads: instruction
-- needs: TEMP TABLE all_parts (instruction_id, node), expanded (function_id)
-- instruction_id, node
SELECT i.instruction_id, coalesce(p.node, i.instruction_id) AS node
FROM instruction i LEFT JOIN all_parts p USING (instruction_id) WHERE i.function_id IN (SELECT function_id FROM expanded);
