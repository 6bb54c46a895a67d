-- Source lines as parts of the functions to expand; one line in two functions (inlined, say) is two parts.
-- reads: instruction
-- needs: TEMP TABLE expanded (function_id)
-- instruction_id, node
SELECT instruction_id, min(instruction_id) OVER (PARTITION BY function_id, file_id, line) AS node
FROM instruction WHERE function_id IN (SELECT function_id FROM expanded);
